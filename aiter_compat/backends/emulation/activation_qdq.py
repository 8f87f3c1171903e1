"""What the two GEMMs read in place of the activations: rounded through a format and back, in fp32.

The first rounding works on hidden_states, once a token and before routing; the second on the activation's
output, slot by slot. Both see the whole tensor, because a per-tensor scale is the maximum over all of it.
"""

from __future__ import annotations

from typing import Protocol

import torch

from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation
from aiter_compat.formats import qdq
from aiter_compat.profiles import NumericsProfile

_STATIC = "fp8_tensor"
_SIXTEEN_BIT = (torch.bfloat16, torch.float16)


def round_through(
    x: torch.Tensor, format_name: str, profile: NumericsProfile, static_scale: torch.Tensor | None = None
) -> torch.Tensor:
    """Round activations through a format and back.

    Args:
        x: [..., K] fp32, bf16 or fp16.
        format_name: "none", or a format of `aiter_compat.formats`.
        profile: the arithmetic of scales and rounding.
        static_scale: for "fp8_tensor", the scale to use in place of the tensor's own; one element.

    Returns:
        [..., K] fp32; `x` itself for "none" when it is fp32 already.

    Raises:
        InvalidArgument: a static scale with more than one element.
        UnsupportedByEmulation: a static scale for a format whose scales are dynamic.
    """
    if static_scale is not None and format_name != _STATIC:
        raise UnsupportedByEmulation(
            f"a static activation scale has a meaning for {_STATIC!r} only, got format {format_name!r}."
        )
    if static_scale is not None and static_scale.numel() != 1:
        raise InvalidArgument(
            "a1_scale or a2_scale",
            f"{static_scale.numel()} elements",
            "one: the static scale of the whole tensor",
            "Reduce per-expert scales to their maximum first, as hosts do.",
        )
    if format_name == "none" or x.numel() == 0:
        return x.float()
    return qdq(x, format_name, profile, scale=static_scale, dtype=torch.float32)


class Dtypes(Protocol):
    """The dtypes of a call, of which `EmulationRequest` has both."""

    @property
    def hidden_states(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def out_dtype(self) -> torch.dtype: ...  # noqa: D102


def sixteen_bit_dtype(request: Dtypes) -> torch.dtype:
    """The dtype that AITER keeps intermediate results of this call in.

    That is the dtype of the result (`a2` in fused_moe_2stages, aiter/fused_moe.py, v0.1.15.post3). A result
    in fp32 is a feature of the emulation: then it is that of hidden_states, and bfloat16 where neither has 16
    bits.
    """
    for dtype in (request.out_dtype, request.hidden_states.dtype):
        if dtype in _SIXTEEN_BIT:
            return dtype
    return torch.bfloat16


def second_operand(activated: torch.Tensor, request: EmulationRequest) -> torch.Tensor:
    """What the second GEMM reads.

    With `second_qdq_from="bf16"` the activation's output first rounds to the call's 16-bit dtype, also when
    no QDQ follows (the stage-1 result of AITER's reference and kernels is a 16-bit tensor); with "fp32" it
    does not.

    Args:
        activated: [..., I] fp32 output of the activation, all slots; rows without an expert are 0.
        request: the call.

    Returns:
        [..., I] fp32.
    """
    if request.profile.second_qdq_from == "bf16":
        activated = activated.to(sixteen_bit_dtype(request))
    return round_through(activated, request.qdq_second, request.profile, request.a2_scale)
