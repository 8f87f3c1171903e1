"""What every form of the layer tells its kernels about the steps around the products: numbers, dtypes, the sum."""

from __future__ import annotations

import torch
import triton

from aiter_compat.backends.emulation.activation_qdq import sixteen_bit_dtype
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.triton_path.kernels.slot_sum import sum_slots

_SHORT = {torch.bfloat16: "bf16", torch.float16: "fp16"}
_SUM_BLOCK = 1024


def short_name(request: EmulationRequest) -> str:
    """The kernels' name of the 16-bit dtype of a call."""
    return _SHORT[sixteen_bit_dtype(request)]


def second_rounding_from(request: EmulationRequest) -> str:
    """What the activation's output is rounded to before the second rounding: "bf16", "fp16" or "fp32"."""
    return short_name(request) if request.profile.second_qdq_from == "bf16" else "fp32"


def weighted_where(request: EmulationRequest) -> str:
    """Where the first product applies the routing weight: "no", "before_bias" or "after_activation"."""
    order = request.profile.doweight_stage1
    return order if request.doweight_stage1 and order != "ignored" else "no"


def activation_numbers(request: EmulationRequest) -> tuple[float, float, float, float, float]:
    """alpha, beta, limit, linear_beta and the smallest block maximum, as the kernels take them."""
    spec = request.activation
    limit = float("inf") if spec.limit is None else spec.limit
    return spec.alpha, spec.beta, limit, spec.linear_beta or 0.0, request.profile.block_amax_floor


def scale_bytes(scale: torch.Tensor | None) -> torch.Tensor:
    """The e8m0 bytes of MX weights, which have scales."""
    assert scale is not None  # noqa: S101 - request checks have looked
    return scale.view(torch.uint8)


def sum_rounding(request: EmulationRequest) -> dict[str, str]:
    """What the sum over a token's slots is rounded to on the way: SLOT and SUM of the kernels that add them up."""
    short, profile = short_name(request), request.profile
    return {
        "SLOT": short if profile.slot_rounding == "bf16" else "fp32",
        "SUM": short if profile.slot_sum == "bf16" else "fp32",
    }


def sum_into(out: torch.Tensor, results: torch.Tensor, row_of_slot: torch.Tensor, request: EmulationRequest) -> None:
    """Add up the slots of every token; one launch.

    Args:
        out: [M, H], result.
        results: fp32 [parts, slots, H] by row.
        row_of_slot: int32 [slots], -1 for slots that have no result.
        request: the call.
    """
    tokens, hidden = out.shape
    parts, slots, _ = results.shape
    sum_slots[(tokens, triton.cdiv(hidden, _SUM_BLOCK))](
        results, slots * hidden, row_of_slot, out, hidden,
        CHOICES=slots // tokens, PARTS=parts, **sum_rounding(request), BLOCK=_SUM_BLOCK,
    )  # fmt: skip
