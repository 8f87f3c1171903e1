"""Whether the Triton path can serve a call, and the reasons where it cannot. Imports no Triton."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from functools import cache

import torch
from packaging.version import Version

from aiter_compat.backends.emulation.candidate import Candidate
from aiter_compat.backends.emulation.expert_matrices import MX_FORMATS
from aiter_compat.backends.emulation.first_operand import is_quantised

PLAIN_TRITON = Version("3.4")
"""Oldest Triton that the plain kernels are tried with."""
ROUNDINGS = ("none", *MX_FORMATS)
"""Formats that the kernels round activations through."""
_FLOATS = (torch.bfloat16, torch.float16, torch.float32)
_CODE_DTYPES = (torch.uint8, torch.float4_e2m1fn_x2, torch.float8_e4m3fn, torch.float8_e5m2)
_ALIGNMENT = 16
_MOST_CHOICES = 32
_LARGEST_OFFSET = 2**31


@cache
def missing_requirement() -> str | None:
    """What the installation lacks, or None."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    version = importlib.metadata.version("triton")
    if Version(version) < PLAIN_TRITON:
        return f"its kernels need Triton {PLAIN_TRITON} or newer, this is {version}"
    return None


@cache
def missing_on_device(device: torch.device) -> str | None:
    """What a device lacks, or None. Looks at no memory of it."""
    if device.type != "cuda":
        return f"it runs on a GPU, the tensors are on {device.type}"
    return missing_requirement()


def triton_refusals(candidate: Candidate, _weight_layout: str, first: str, second: str) -> tuple[str, ...]:
    """Why the Triton path does not serve a call; empty when it does. Looks at no values.

    Args:
        candidate: the call.
        _weight_layout: layout that its weights are read in; it reads them all.
        first: format that activations are rounded through before the first product.
        second: the same before the second.
    """
    missing = missing_on_device(candidate.hidden_states.device)
    if missing is not None:
        return (missing,)
    found = []
    if candidate.weight_format not in MX_FORMATS:
        found.append(f"it serves {', '.join(MX_FORMATS)} weights, these are {candidate.weight_format}")
    found += [
        f"it rounds activations through {', '.join(ROUNDINGS)}, not {name}"
        for name in dict.fromkeys((first, second))
        if name not in ROUNDINGS
    ]
    codes = is_quantised(candidate.hidden_states)
    if (candidate.a1_scale is not None and not codes) or candidate.a2_scale is not None:
        found.append("it has no static activation scales")
    if candidate.topk_ids.shape[-1] > _MOST_CHOICES:
        found.append(f"it takes up to {_MOST_CHOICES} experts a token, these are {candidate.topk_ids.shape[-1]}")
    limit = candidate.num_local_tokens
    if isinstance(limit, torch.Tensor) and limit.device != candidate.hidden_states.device:
        found.append("num_local_tokens is on another device")
    return (*found, *_about_tensors(candidate, codes))


def _about_tensors(candidate: Candidate, codes: bool) -> list[str]:
    found = []
    hidden = candidate.hidden_states
    if not codes and (hidden.dtype not in _FLOATS or hidden.stride(-1) != 1):
        found.append(f"hidden_states are {hidden.dtype} with a stride of {hidden.stride(-1)}")
    for name, weights, scale in (
        ("w1", candidate.w1, candidate.w1_scale),
        ("w2", candidate.w2, candidate.w2_scale),
        ("shared_w1", candidate.shared_w1, candidate.shared_w1_scale),
        ("shared_w2", candidate.shared_w2, candidate.shared_w2_scale),
    ):
        if weights is not None:
            found += _about_weights(name, weights, scale)
    for name, bias in (("bias1", candidate.bias1), ("bias2", candidate.bias2)):
        if bias is not None and (bias.dtype not in _FLOATS or not bias.is_contiguous()):
            found.append(f"{name} is not contiguous floating point")
    return found


def _about_weights(name: str, weights: torch.Tensor, scale: torch.Tensor | None) -> list[str]:
    found = []
    if weights.dtype not in _CODE_DTYPES or weights.ndim not in (2, 3) or not weights.is_contiguous():
        found.append(f"{name} is not contiguous bytes [experts, rows, bytes]")
    elif weights.shape[-1] % _ALIGNMENT:
        found.append(f"rows of {name} are no whole blocks")
    elif weights.shape[-2] * weights.shape[-1] >= _LARGEST_OFFSET:
        found.append(f"an expert of {name} has 2 GiB or more")
    if scale is None or not scale.is_contiguous() or scale.element_size() != 1 or scale.numel() >= _LARGEST_OFFSET:
        found.append(f"{name}_scale is not contiguous bytes below 2 GiB")
    if weights.data_ptr() % _ALIGNMENT or (scale is not None and scale.data_ptr() % _ALIGNMENT):
        found.append(f"{name} or its scale does not begin at a multiple of {_ALIGNMENT} bytes")
    return found
