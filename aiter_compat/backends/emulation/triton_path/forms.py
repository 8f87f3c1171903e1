"""The forms that a layer has in kernels, and which of them serves a request. Imports no Triton.

"slots" multiplies MXFP4 by MXFP4 in integers, each slot by itself, where there are few; "exact" does it block by block
on Hopper's fp8 tensor cores; "wide" multiplies MXFP4 weights by activations that bf16 holds, on Hopper too; "plain"
anything that the path serves. "slots" and "plain" run on any GPU.
"""

from __future__ import annotations

import importlib.metadata
from functools import cache
from typing import Literal, Protocol, TypeAlias

import torch

from aiter_compat.backends.emulation.activation_qdq import sixteen_bit_dtype
from aiter_compat.backends.emulation.first_operand import is_quantised
from aiter_compat.backends.emulation.triton_path.tile_choice import most_slots_alone
from aiter_compat.profiles import NumericsProfile

Form: TypeAlias = Literal["slots", "exact", "wide", "plain"]

GLUON_TRITON = ("3.6",)
"""Gluon, the dialect of the kernels for Hopper, is experimental: its interface changes from one Triton to the next."""
_HOPPER = (9, 0)


class Operands(Protocol):
    """What the choice of a form depends on. `EmulationRequest` has it; a decision asks before there is one."""

    @property
    def hidden_states(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def w2(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def topk_ids(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def weight_format(self) -> str: ...  # noqa: D102
    @property
    def weight_layout(self) -> str: ...  # noqa: D102
    @property
    def shared_w1(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def qdq_first(self) -> str: ...  # noqa: D102
    @property
    def qdq_second(self) -> str: ...  # noqa: D102
    @property
    def profile(self) -> NumericsProfile: ...  # noqa: D102
    @property
    def out_dtype(self) -> torch.dtype: ...  # noqa: D102


@cache
def missing_for_hopper(device: torch.device) -> str | None:
    """Why the kernels for Hopper cannot run on a device that the plain ones run on, or None."""
    if torch.version.hip is not None:
        return "they use instructions of NVIDIA's Hopper, this is a ROCm build of torch"
    capability = torch.cuda.get_device_capability(device)
    if capability != _HOPPER:
        return f"they use instructions of Hopper (compute capability 9.0), this is {capability[0]}.{capability[1]}"
    version = importlib.metadata.version("triton")
    if not version.startswith(tuple(f"{tested}." for tested in GLUON_TRITON)):
        return f"they are tested with Triton {' and '.join(GLUON_TRITON)}, this is {version}"
    return None


def form_of(request: Operands) -> Form:
    """The fastest form that serves a request which `availability.triton_refusals` has nothing against."""
    if not slots_refusals(request) and request.topk_ids.numel() <= most_slots_alone(_features(request)):
        return "slots"
    return _form_of_many(request)


def _form_of_many(request: Operands) -> Form:
    """The same where there are many slots."""
    if not exact_refusals(request):
        return "exact"
    return "plain" if wide_refusals(request) else "wide"


def _features(request: Operands) -> int:
    """Columns of the second product of packed weights."""
    return 2 * request.w2.shape[-1]


def form_reason(request: Operands) -> str:
    """The form that serves a request however many its tokens are, and why not a faster one, in words."""
    said = _reason_of_many(request)
    if slots_refusals(request):
        return said
    return f"up to {most_slots_alone(_features(request))} slots each by itself, else {said}"


def _reason_of_many(request: Operands) -> str:
    form, exact, wide = _form_of_many(request), exact_refusals(request), wide_refusals(request)
    said = f"{form} products"
    if form == "exact":
        return said
    if form == "plain" and exact == wide:
        return f"{said}, neither exact nor wide ones: {'; '.join(exact)}"
    said += f", not exact ones: {'; '.join(exact)}"
    return said if form == "wide" else f"{said}, nor wide ones: {'; '.join(wide)}"


def slots_refusals(request: Operands) -> tuple[str, ...]:
    """Why the slots form does not serve a request, of however many slots; empty when it does. Looks at no values."""
    return (*_operand_refusals(request), *_rounding_refusals(request))


def exact_refusals(request: Operands) -> tuple[str, ...]:
    """Why the exact form does not serve a request; empty when it does. Looks at no values."""
    return (*_hopper_refusals(request), *_rounding_refusals(request))


def _rounding_refusals(request: Operands) -> tuple[str, ...]:
    """What forms refuse that multiply MXFP4 by MXFP4."""
    if (request.qdq_first, request.qdq_second) == ("mxfp4", "mxfp4"):
        return ()
    return (f"they multiply activations rounded through mxfp4, not {request.qdq_first} and {request.qdq_second}",)


def wide_refusals(request: Operands) -> tuple[str, ...]:
    """Why the wide form does not serve a request; empty when it does. Looks at no values."""
    found = _hopper_refusals(request)
    if request.qdq_first == "none" and request.hidden_states.dtype != torch.bfloat16:
        found += (f"they multiply bfloat16, hidden_states are not rounded and {request.hidden_states.dtype}",)
    if request.qdq_second == "none" and not (
        request.profile.second_qdq_from == "bf16" and sixteen_bit_dtype(request) == torch.bfloat16
    ):
        found += ("they multiply bfloat16, the second operand is not rounded and is not that",)
    return found


def _hopper_refusals(request: Operands) -> tuple[str, ...]:
    """What both forms for Hopper refuse."""
    missing = missing_for_hopper(request.hidden_states.device)
    return _operand_refusals(request) if missing is None else (missing,)


def _operand_refusals(request: Operands) -> tuple[str, ...]:
    """What all forms but the plain one refuse."""
    found = []
    if request.weight_format != "mxfp4":
        found.append(f"they multiply mxfp4 weights, these are {request.weight_format}")
    if request.weight_layout != "logical":
        found.append(f"they read weights in the logical layout, these are in {request.weight_layout}")
    if is_quantised(request.hidden_states):
        found.append("they round hidden_states themselves, these are codes already")
    if request.shared_w1 is not None:
        found.append("they have no shared expert")
    return tuple(found)
