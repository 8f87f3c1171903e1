"""The second product of the layer, its bias and the routing weights; `product_loop` has the arithmetic."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from aiter_compat.backends.emulation.triton_path.kernels.product_loop import (
    APART_TOKENS,
    fetch,
    open_buffers,
    product_layout,
    scaled_product,
)
from aiter_compat.backends.emulation.triton_path.kernels.rows_of_tile import (
    INNER_BASE,
    any_apart,
    is_size,
    passes_of,
)
from aiter_compat.backends.emulation.triton_path.tile_choice import STEP_COLUMNS

_STEP = gl.constexpr(STEP_COLUMNS)
_INNER_BASE = gl.constexpr(INNER_BASE)


@gluon.jit
def _second_consumer(
    weight_smem,
    row_smem,
    full,
    free,
    weight_scales,
    blocks,
    first_step,
    last_step,
    turn,
    row_scales,
    row_scale_stride,
    apart_rows,
    bias,
    routing_weights,
    slot,
    slots,
    slot_of_row,
    expert,
    features,
    first_feature,
    part,
    repeats,
    results,
    APART: gl.constexpr,
    ROWS: gl.constexpr,
    N: gl.constexpr,
    STAGES: gl.constexpr,
    ALIGNED: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
):
    """What the multiplying warps do with the first N rows of a tile, for one tile of features after the other."""
    layout: gl.constexpr = product_layout(WARPS, N)
    columns = slot + gl.arange(0, N, gl.SliceLayout(0, layout))
    here = columns < slots
    base = gl.full([N], _INNER_BASE, gl.int32, gl.SliceLayout(0, layout))
    own_scales = gl.load(apart_rows + columns, mask=here, other=0) != 0
    number = gl.load(slot_of_row + columns, mask=here, other=0)
    targets = results + number.to(gl.int64) * features
    if WEIGHTED:
        weight = gl.load(routing_weights + number, mask=here, other=0.0)
    for repeat in range(repeats):
        row = first_feature + repeat * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, layout))
        exists = row < features
        offsets = (expert * features + gl.where(exists, row, 0)) * blocks
        values = scaled_product(
            weight_smem, row_smem, full, free, weight_scales, offsets, blocks, first_step, last_step,
            turn + repeat * (last_step - first_step), row_scales + slot, row_scale_stride, base, own_scales, APART,
            ROWS, N, STAGES, ALIGNED, WARPS, OVERLAP,
        )  # fmt: skip
        if BIAS:
            own = gl.load(bias + expert * features + row, mask=exists & (part == 0), other=0.0).to(gl.float32)
            values = values + own[:, None]
        if WEIGHTED:
            values = values * weight[None, :]
        gl.store(targets[None, :] + row[:, None], values, mask=here[None, :] & exists[:, None])


@gluon.jit
def _second_consumer_of_size(
    weight_smem,
    row_smem,
    full,
    free,
    weight_scales,
    blocks,
    first_step,
    last_step,
    row_scales,
    row_scale_stride,
    apart,
    apart_rows,
    bias,
    routing_weights,
    slot,
    slots,
    slot_of_row,
    expert,
    features,
    first_feature,
    part,
    repeats,
    results,
    ROWS: gl.constexpr,
    TOKENS: gl.constexpr,
    LEAST: gl.constexpr,
    STAGES: gl.constexpr,
    ALIGNED: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
):
    """`_second_consumer` for no more rows than a power of two above those that the tile holds."""
    held = slots - slot
    if apart != 0:
        for number in range(passes_of(apart, held, TOKENS, APART_TOKENS)):
            _second_consumer(
                weight_smem, row_smem, full, free, weight_scales, blocks, first_step, last_step,
                number * repeats * (last_step - first_step), row_scales, row_scale_stride, apart_rows, bias,
                routing_weights, slot + number * APART_TOKENS, slots, slot_of_row, expert, features, first_feature,
                part, repeats, results, True, ROWS, APART_TOKENS, STAGES, ALIGNED, WARPS, OVERLAP, BIAS, WEIGHTED,
            )  # fmt: skip
    else:
        for size in gl.static_range(3):
            if (TOKENS >> size) >= LEAST:
                fits = is_size(held, TOKENS >> size, TOKENS, size == 2 or (TOKENS >> (size + 1)) < LEAST)
                if fits:
                    _second_consumer(
                        weight_smem, row_smem, full, free, weight_scales, blocks, first_step, last_step,
                        gl.to_tensor(0), row_scales, row_scale_stride, apart_rows, bias, routing_weights, slot, slots,
                        slot_of_row, expert, features, first_feature, part, repeats, results, False,
                        ROWS, TOKENS >> size, STAGES, ALIGNED, WARPS, OVERLAP, BIAS, WEIGHTED,
                    )  # fmt: skip


@gluon.jit(do_not_specialize=["part_stride", "parts", "repeats", "row_scale_stride"])
def second_product(
    weights,
    rows,
    row_scales,
    row_scale_stride,
    weight_scales,
    bias,
    routing_weights,
    tile_expert,
    tile_row,
    tile_end,
    slot_of_row,
    apart_rows,
    results,
    part_stride,
    columns,
    features,
    parts,
    repeats,
    ROWS: gl.constexpr,
    TOKENS: gl.constexpr,
    LEAST: gl.constexpr,
    STAGES: gl.constexpr,
    ALIGNED: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
):
    """Activations times w2, bias and routing weight, for the rows of one tile.

    Grid: (tiles of features / repeats, tiles of rows, parts): a program computes `repeats` tiles of features, one after
    the other, while the next operands are on their way already; the columns are shared among the parts.

    Args:
        weights: descriptor of uint8 [experts * features, columns / 2], box [ROWS / 2, 128].
        rows: as for `first_product`.
        row_scales: as for `first_product`.
        weight_scales: e8m0 bytes [experts * features, columns / 32].
        bias: [experts, features].
        routing_weights: as for `first_product`; applied when WEIGHTED.
        results: fp32 [parts, slots, features], by slot number; parts are to be added.
        part_stride: elements from one part to the next.
    """
    tile = gl.program_id(1)
    expert = gl.load(tile_expert + tile)
    slot = gl.load(tile_row + tile)
    slots = gl.load(tile_end + tile)
    if expert >= 0:
        half: gl.constexpr = ROWS // 2
        part = gl.program_id(2)
        blocks = columns // 32
        steps = (columns + _STEP - 1) // _STEP
        first_step = steps * part // parts
        last_step = steps * (part + 1) // parts
        first_feature = gl.program_id(0) * ROWS * repeats
        left = (features - first_feature + ROWS - 1) // ROWS
        mine = gl.minimum(repeats, left)
        first_row = expert * features + first_feature
        apart = any_apart(apart_rows, slot, slots, TOKENS, WARPS)
        weight_smem, row_smem, full, free = open_buffers(weights, rows, ROWS, TOKENS, STAGES)
        gl.warp_specialize(
            [
                (
                    _second_consumer_of_size,
                    (
                        weight_smem, row_smem, full, free, weight_scales, blocks, first_step, last_step, row_scales,
                        row_scale_stride, apart, apart_rows, bias, routing_weights, slot, slots, slot_of_row, expert,
                        features, first_feature, part, mine, results + part.to(gl.int64) * part_stride,
                        ROWS, TOKENS, LEAST, STAGES, ALIGNED, WARPS, OVERLAP, BIAS, WEIGHTED,
                    ),
                ),
                (
                    fetch,
                    (
                        weights, rows, weight_smem, row_smem, full, free,
                        first_row, first_row + half, 0, 0, slot, first_step, last_step, mine,
                        passes_of(apart, slots - slot, TOKENS, APART_TOKENS),
                        ROWS, TOKENS, STAGES,
                    ),
                ),
            ],
            [1],
            [24],
        )  # fmt: skip
