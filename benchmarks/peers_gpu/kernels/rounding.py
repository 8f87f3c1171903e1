"""MXFP4 rounding of activations, and the activation function with it: bf16 to bf16, one pass."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from aiter_compat.backends.emulation import ActivationSpec
from aiter_compat.profiles import NumericsProfile

_COLUMNS = 1024
_NO_CLAMP = 3.0e38
# What is added to the bits of a block's maximum before its mantissa is cut off: half a unit for "nearest", half a step
# of e2m1 for "even".
_CARRY = {"nearest": 1 << 22, "even": 1 << 21, "even_or_nan": 1 << 21, "even_or_largest": 1 << 21}


@triton.jit
def _through_mxfp4(x, carry, ROWS: tl.constexpr):
    blocks = tl.reshape(x, (ROWS, 32))
    largest = tl.max(tl.abs(blocks), axis=1).to(tl.int32, bitcast=True)
    exponent = tl.maximum(((largest + carry) >> 23) - 2, 0)
    # Two factors, since the reciprocal of the smallest scales is more than a float holds.
    up = ((254 - exponent - 64) << 23).to(tl.float32, bitcast=True)[:, None]
    scale = tl.where(exponent == 0, 1 << 22, exponent << 23).to(tl.float32, bitcast=True)[:, None]
    scaled = blocks * up * 1.8446744073709552e19
    magnitude = tl.minimum(tl.abs(scaled), 6.0)
    step = tl.where(magnitude < 2.0, 0.5, tl.where(magnitude < 4.0, 1.0, 2.0))
    # Adding and taking off 1.5 * 2^23 rounds to an integer, ties to even, which is e2m1's rule in units of the step.
    rounded = ((magnitude / step + 12582912.0) - 12582912.0) * step
    return tl.reshape(tl.where(blocks < 0, -rounded, rounded) * scale, (ROWS * 32,))


@triton.jit
def _round(x, result, columns, carry, COUNT: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COUNT + tl.arange(0, COUNT)
    inside = column < columns
    values = tl.load(x + row * columns + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(result + row * columns + column, _through_mxfp4(values, carry, COUNT // 32), mask=inside)


@triton.jit
def _activate(
    gate_up,
    result,
    columns,
    carry,
    alpha,
    beta,
    limit,
    SWIGLU: tl.constexpr,
    ROUND: tl.constexpr,
    COUNT: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COUNT + tl.arange(0, COUNT)
    inside = column < columns
    pointer = gate_up + row * 2 * columns + column
    gate = tl.minimum(tl.load(pointer, mask=inside, other=0.0).to(tl.float32), limit)
    up = tl.load(pointer + columns, mask=inside, other=0.0).to(tl.float32)
    up = tl.minimum(tl.maximum(up, -limit), limit)
    if SWIGLU:
        values = gate / (1.0 + tl.exp(-alpha * gate)) * (up + beta)
    else:
        values = gate / (1.0 + tl.exp(-gate)) * up
    values = values.to(tl.bfloat16).to(tl.float32)
    if ROUND:
        values = _through_mxfp4(values, carry, COUNT // 32)
    tl.store(result + row * columns + column, values, mask=inside)


def through_mxfp4(x: torch.Tensor, profile: NumericsProfile) -> torch.Tensor:
    """Round through MXFP4 and back.

    Args:
        x: [S, K] bf16, contiguous, finite.
        profile: its `mxfp4_scale_rule` has to be "nearest" or one of the "even" ones.

    Returns:
        [S, K] bf16.
    """
    result = torch.empty_like(x)
    rows, columns = x.shape
    _round[(rows, triton.cdiv(columns, _COLUMNS))](
        x, result, columns, _CARRY[profile.mxfp4_scale_rule], COUNT=_COLUMNS, num_warps=4
    )
    return result


def activate(gate_up: torch.Tensor, spec: ActivationSpec, profile: NumericsProfile | None) -> torch.Tensor:
    """The activation, rounded to bf16, then through MXFP4.

    Args:
        gate_up: [S, 2*I] bf16, the gate half first.
        spec: "silu" or "swiglu", gated.
        profile: as in `through_mxfp4`; None leaves the second rounding out.

    Returns:
        [S, I] bf16.
    """
    rows, columns = gate_up.shape[0], gate_up.shape[1] // 2
    result = gate_up.new_empty(rows, columns)
    _activate[(rows, triton.cdiv(columns, _COLUMNS))](
        gate_up,
        result,
        columns,
        0 if profile is None else _CARRY[profile.mxfp4_scale_rule],
        spec.alpha,
        spec.beta,
        _NO_CLAMP if spec.limit is None else spec.limit,
        SWIGLU=spec.name == "swiglu",
        ROUND=profile is not None,
        COUNT=_COLUMNS,
        num_warps=4,
    )
    return result
