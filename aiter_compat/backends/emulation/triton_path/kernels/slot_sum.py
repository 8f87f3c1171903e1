"""From the results of a token's slots to the token's result: `emulation.slot_sum` on the device, without atomics."""

from __future__ import annotations

import triton
import triton.language as tl

from aiter_compat.backends.emulation.triton_path.kernels.short_numbers import to_short


@triton.jit(do_not_specialize=["part_stride"])
def sum_slots(
    results,
    part_stride,
    row_of_slot,
    out,
    features,
    CHOICES: tl.constexpr,
    PARTS: tl.constexpr,
    SLOT: tl.constexpr,
    SUM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add up the slots of each token, in slot order.

    Grid: (tokens, pieces of BLOCK features).

    Args:
        results: fp32 [PARTS, rows, features]: weighted results by row.
        part_stride: elements from one part to the next.
        row_of_slot: int32 [slots]; a slot with -1 has no result and counts as 0.
        out: [M, features], result.
        SLOT: 16-bit type that each slot is rounded to, "fp32" for none.
        SUM: the same for each intermediate sum.
    """
    token = tl.program_id(0)
    feature = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = feature < features
    total = tl.zeros([BLOCK], tl.float32)
    for choice in tl.static_range(CHOICES):
        row = tl.load(row_of_slot + token * CHOICES + choice).to(tl.int64)
        value = tl.zeros([BLOCK], tl.float32)
        for part in tl.static_range(PARTS):
            value += tl.load(
                results + part * part_stride + row * features + feature, mask=inside & (row >= 0), other=0.0
            )
        total = to_short(total + to_short(value, SLOT), SUM)
    tl.store(out + token.to(tl.int64) * features + feature, total.to(out.dtype.element_ty), mask=inside)
