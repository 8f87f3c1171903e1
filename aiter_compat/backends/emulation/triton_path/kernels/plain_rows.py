"""Activations as the plain products read them: rounded, in bf16 terms, in the order of planes."""

from __future__ import annotations

import triton
import triton.language as tl

from aiter_compat.backends.emulation.triton_path.kernels.block_scales import (
    inverse_scale,
    magnitude_bits,
    rounded_to_grid,
    scale_byte,
    scale_value,
)


@triton.jit
def place_in_step(column):
    """Where a column of 0 to 127 lies in its step: by its place in its word of eight, then by the word."""
    return column % 8 * 16 + column // 8


@triton.jit
def rounded_blocks(values, AXIS: tl.constexpr, amax_floor, ROUNDING: tl.constexpr, RULE: tl.constexpr):
    """fp32 values rounded through an MX format, a block being what lies along AXIS of 32; "none" leaves them."""
    if ROUNDING == "mxfp4":
        values = _through(values, AXIS, amax_floor, RULE, 1, 6.0, 2, 0)
    elif ROUNDING == "mxfp6_e2m3":
        values = _through(values, AXIS, amax_floor, RULE, 3, 7.5, 2, 0)
    elif ROUNDING == "mxfp6_e3m2":
        values = _through(values, AXIS, amax_floor, RULE, 2, 28.0, 4, -2)
    elif ROUNDING == "mxfp8":
        values = _through(values, AXIS, amax_floor, RULE, 3, 448.0, 8, -6)
    elif ROUNDING == "mxfp8_e5m2":
        values = _through(values, AXIS, amax_floor, RULE, 2, 57344.0, 15, -14)
    return values


@triton.jit
def _through(
    values, AXIS: tl.constexpr, amax_floor, RULE: tl.constexpr, MANTISSA: tl.constexpr, LARGEST: tl.constexpr,
    EMAX: tl.constexpr, SMALLEST_EXPONENT: tl.constexpr,
):  # fmt: skip
    largest = tl.max(magnitude_bits(values), axis=AXIS, keep_dims=True)
    byte = scale_byte(largest, amax_floor, RULE, MANTISSA, LARGEST, EMAX)
    return rounded_to_grid(values * inverse_scale(byte), MANTISSA, LARGEST, SMALLEST_EXPONENT) * scale_value(byte)


@triton.jit
def store_terms(target, values, mask, term_stride, TERMS: tl.constexpr):
    """Write fp32 values as bf16 terms that add up to them: one where bf16 holds them, two for fp16, three for fp32."""
    left = values
    for term in tl.static_range(TERMS):
        part = left.to(tl.bfloat16)
        tl.store(target + term * term_stride, part, mask=mask)
        # Inf and NaN have no rest.
        rest = left - part.to(tl.float32)
        left = tl.where(rest == rest, rest, 0.0)


@triton.jit(do_not_specialize=["hidden_stride", "term_stride"])
def plain_token_rows(
    hidden, hidden_stride, rows, term_stride, columns, row_columns, amax_floor,
    BLOCKS: tl.constexpr, TERMS: tl.constexpr, ROUNDING: tl.constexpr, RULE: tl.constexpr,
):  # fmt: skip
    """Round a token's columns and write them in the order of planes.

    Grid: (tokens,).

    Args:
        hidden: [M, columns] bf16, fp16 or fp32.
        rows: result: bf16 [TERMS, M, row_columns], `term_stride` from one term to the next; columns from `columns` on
            get 0.
        BLOCKS: power of two, at least row_columns / 32.
    """
    token = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCKS)[:, None] * 32 + tl.arange(0, 32)[None, :]
    values = tl.load(hidden + token * hidden_stride + column, mask=column < columns, other=0.0).to(tl.float32)
    values = rounded_blocks(values, 1, amax_floor, ROUNDING, RULE)
    target = rows + token * row_columns + column // 128 * 128 + place_in_step(column % 128)
    store_terms(target, values, column < row_columns, term_stride, TERMS)


@triton.jit(do_not_specialize=["hidden_stride"])
def slot_rows(
    hidden, hidden_stride, rows, row_of_slot, columns, row_columns, amax_floor,
    CHOICES: tl.constexpr, BLOCKS: tl.constexpr, ROUNDING: tl.constexpr, RULE: tl.constexpr,
):  # fmt: skip
    """The same, written to the rows of the token's slots, and in one term: for what bf16 holds.

    Args:
        rows: result: bf16 [rows, row_columns].
        row_of_slot: int32 [slots], -1 for slots that are not computed.
    """
    token = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCKS)[:, None] * 32 + tl.arange(0, 32)[None, :]
    values = tl.load(hidden + token * hidden_stride + column, mask=column < columns, other=0.0).to(tl.float32)
    values = rounded_blocks(values, 1, amax_floor, ROUNDING, RULE).to(tl.bfloat16)
    place = column // 128 * 128 + place_in_step(column % 128)
    for choice in tl.static_range(CHOICES):
        row = tl.load(row_of_slot + token * CHOICES + choice)
        if row >= 0:
            tl.store(rows + row.to(tl.int64) * row_columns + place, values, mask=column < row_columns)
