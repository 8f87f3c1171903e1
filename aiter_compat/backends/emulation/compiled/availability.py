"""Whether the compiled path can serve a request, and the reasons where it cannot. Imports no compiler."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache

import torch

from aiter_compat.backends.emulation.candidate import Candidate

ROUNDINGS = ("mxfp4", "mxfp8", "none")
"""Activation formats that the kernels have."""
_FLOATS = (torch.bfloat16, torch.float16, torch.float32)
_CODE_DTYPES = (torch.uint8, torch.float4_e2m1fn_x2)


@cache
def missing_requirement() -> str | None:
    """What the machine lacks, or None: numba (the extra `cpu`), or a byte order that the packed codes need."""
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed (pip install aiter-compat[cpu])"
    if sys.byteorder != "little":
        return "the compiled kernels read packed codes on little-endian processors only"
    return None


def refusals(candidate: Candidate, weight_layout: str, first: str, second: str) -> tuple[str, ...]:
    """Why the compiled path does not serve a call; empty when it does. Looks at no values.

    Args:
        candidate: the call.
        weight_layout: layout that its weights are read in.
        first: format that activations are rounded through before the first product.
        second: the same before the second.
    """
    missing = missing_requirement()
    if missing is not None:
        return (missing,)
    found = []
    if candidate.weight_format != "mxfp4":
        found.append(f"it serves mxfp4 weights, these are {candidate.weight_format}")
    if weight_layout != "logical":
        found.append(f"it reads weights in the logical layout, these are in {weight_layout}")
    for name in dict.fromkeys((first, second)):
        if name not in ROUNDINGS:
            found.append(f"it rounds activations through {', '.join(ROUNDINGS)}, not {name}")
    if candidate.a1_scale is not None or candidate.a2_scale is not None:
        found.append("it has no static activation scales")
    if candidate.shared_w1 is not None:
        found.append("it has no shared expert")
    return (*found, *_about_tensors(candidate))


def _about_tensors(candidate: Candidate) -> list[str]:
    found = []
    if candidate.hidden_states.device.type != "cpu":
        found.append(f"it runs on the CPU, the tensors are on {candidate.hidden_states.device.type}")
    if candidate.hidden_states.dtype not in _FLOATS:
        found.append(f"hidden_states are {candidate.hidden_states.dtype}")
    for name, weights, scale in (
        ("w1", candidate.w1, candidate.w1_scale),
        ("w2", candidate.w2, candidate.w2_scale),
    ):
        if weights.dtype not in _CODE_DTYPES or weights.ndim != 3 or weights.stride(2) != 1:
            found.append(f"{name} is not uint8 [experts, rows, bytes] with consecutive bytes")
        if scale is None or not scale.is_contiguous():
            found.append(f"{name}_scale is not contiguous")
    for name, bias in (("bias1", candidate.bias1), ("bias2", candidate.bias2)):
        if bias is not None and bias.dtype not in _FLOATS:
            found.append(f"{name} is {bias.dtype}")
    return found
