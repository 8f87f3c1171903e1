"""The second product of the layer, its bias and the routing weights; `product_loop` has the arithmetic."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from aiter_compat.backends.emulation.triton_path.kernels.operand_fetch import fetch, open_buffers
from aiter_compat.backends.emulation.triton_path.kernels.product_loop import (
    PRODUCT_SCALE,
    product_layout,
    scaled_product,
    warp_rows,
)
from aiter_compat.backends.emulation.triton_path.kernels.rows_of_tile import (
    APART_TOKENS,
    INNER_BASE,
    any_apart,
    is_size,
    passes_of,
)
from aiter_compat.backends.emulation.triton_path.tile_choice import STEP_COLUMNS

_STEP = gl.constexpr(STEP_COLUMNS)
_INNER_BASE = gl.constexpr(INNER_BASE)
_FOLDED_SCALE = gl.constexpr(2.0 ** (INNER_BASE - 127) * PRODUCT_SCALE.value)


@gluon.constexpr_function
def _pair_layout(warps, tokens):
    """Layout of a product whose rows are in their order again: a thread has pairs of neighbours."""
    registers = [[1, 0], [0, 1]] + [[0, 8 << i] for i in range(tokens.bit_length() - 4)]
    return gl.DistributedLinearLayout(
        reg_bases=registers,
        lane_bases=[[0, 2], [0, 4], [2, 0], [4, 0], [8, 0]],
        warp_bases=warp_rows(warps),
        block_bases=[],
        shape=[16 * warps, tokens],
    )


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
    row_numbers,
    row_weights,
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
    RESIDENT: gl.constexpr,
    ALIGNED: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
):
    """What the multiplying warps do with the first N rows of a tile, for one tile of features after the other."""
    layout: gl.constexpr = product_layout(WARPS, N)
    pairs: gl.constexpr = _pair_layout(WARPS, N)
    base = gl.full([N], _INNER_BASE, gl.int32, gl.SliceLayout(0, layout))
    columns = slot + gl.arange(0, N, gl.SliceLayout(0, layout))
    here = columns < slots
    own_scales = gl.load(apart_rows + columns, mask=here, other=0) != 0
    place = gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    # The order of `boxes.paired_boxes`.
    own_row = place // 16 * 16 + place % 8 * 2 + place % 16 // 8
    # In shared memory and not in registers, which the product needs all.
    numbers_smem = row_numbers.slice(0, N)
    weights_smem = row_weights.slice(0, N)
    gl.thread_barrier()
    numbers_smem.store(gl.where(here, columns, -1))
    weight = gl.full([N], 1.0, gl.float32, gl.SliceLayout(0, layout))
    if WEIGHTED:
        number = gl.load(slot_of_row + columns, mask=here, other=0)
        weight = gl.load(routing_weights + number, mask=here, other=0.0)
    # A power of two may multiply what it likes, but a bias comes between.
    if not BIAS:
        weight = weight * (PRODUCT_SCALE if APART else _FOLDED_SCALE)
    weights_smem.store(weight)
    gl.thread_barrier()
    for repeat in range(repeats):
        row = first_feature + repeat * ROWS + own_row
        offsets = (expert * features + gl.minimum(row, features - 1)) * blocks
        values = scaled_product(
            weight_smem, row_smem, full, free, weight_scales, offsets, blocks, first_step, last_step,
            turn + repeat * (last_step - first_step), row_scales + slot, row_scale_stride, base, own_scales, APART,
            ROWS, N, STAGES, ALIGNED, HALF_LAST, WARPS, OVERLAP, RESIDENT,
        )  # fmt: skip
        if BIAS:
            values = values * (PRODUCT_SCALE if APART else _FOLDED_SCALE)
            own = gl.load(bias + expert * features + row, mask=(row < features) & (part == 0), other=0.0).to(gl.float32)
            values = values + own[:, None]
        if WEIGHTED or not BIAS:
            values = values * weights_smem.load(gl.SliceLayout(0, layout))[None, :]
        ordered = gl.reshape(gl.permute(gl.reshape(values, [ROWS // 16, 2, 8, N]), (0, 2, 1, 3)), [ROWS, N])
        stored = gl.convert_layout(ordered, pairs)
        feature = first_feature + repeat * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, pairs))
        to_row = numbers_smem.load(gl.SliceLayout(0, pairs))
        # Without signs: one instruction multiplies 32-bit numbers to a 64-bit one.
        offset = to_row.to(gl.uint32).to(gl.uint64) * features.to(gl.uint32).to(gl.uint64)
        inside = (to_row >= 0)[None, :] & (feature < features)[:, None]
        gl.store((results + feature)[:, None] + offset[None, :], stored, mask=inside)


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
    row_numbers,
    row_weights,
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
    RESIDENT: gl.constexpr,
    ALIGNED: gl.constexpr,
    HALF_LAST: gl.constexpr,
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
                routing_weights, slot + number * APART_TOKENS, slots, slot_of_row, row_numbers, row_weights,
                expert, features, first_feature, part, repeats, results, True,
                ROWS, APART_TOKENS, STAGES, RESIDENT, ALIGNED, HALF_LAST, WARPS, OVERLAP, BIAS, WEIGHTED,
            )  # fmt: skip
    else:
        for size in gl.static_range(3):
            if (TOKENS >> size) >= LEAST:
                fits = is_size(held, TOKENS >> size, TOKENS, size == 2 or (TOKENS >> (size + 1)) < LEAST)
                if fits:
                    _second_consumer(
                        weight_smem, row_smem, full, free, weight_scales, blocks, first_step, last_step,
                        gl.to_tensor(0), row_scales, row_scale_stride, apart_rows, bias, routing_weights, slot, slots,
                        slot_of_row, row_numbers, row_weights, expert, features, first_feature, part, repeats,
                        results, False,
                        ROWS, TOKENS >> size, STAGES, RESIDENT, ALIGNED, HALF_LAST, WARPS, OVERLAP, BIAS, WEIGHTED,
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
    RESIDENT: gl.constexpr,
    ALIGNED: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
):
    """Activations times w2, bias and routing weight, for the rows of one tile.

    Grid: (tiles of features / repeats, tiles of rows, parts): a program computes `repeats` tiles of features, one after
    the other, while the next operands are on their way already; the columns are shared among the parts.

    Args:
        weights: descriptor of uint8 [experts * features, columns / 2] from `boxes.paired_boxes`, ROWS rows a box.
        rows: descriptor of e5m2 [rows, columns], box [TOKENS, 128], scales folded in.
        row_scales: fp32 [columns / 32, row_scale_stride]: the scales that remain.
        weight_scales: e8m0 bytes [experts * features, columns / 32].
        bias: [experts, features].
        routing_weights: fp32, by slot number; applied when WEIGHTED.
        tile_expert, tile_row, tile_end, slot_of_row: as for `first_product`.
        apart_rows: uint8 [rows], not 0 where a row has blocks that keep their own scale.
        results: fp32 [parts, rows, features]; parts are to be added.
        part_stride: elements from one part to the next.
        RESIDENT: as for `open_buffers`.
    """
    tile = gl.program_id(1)
    expert = gl.load(tile_expert + tile)
    slot = gl.load(tile_row + tile)
    slots = gl.load(tile_end + tile)
    if expert >= 0:
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
        weight_smem, row_smem, full, free = open_buffers(rows, ROWS, TOKENS, STAGES, RESIDENT)
        for_columns: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
        row_numbers = gl.allocate_shared_memory(gl.int32, [TOKENS], for_columns)
        row_weights = gl.allocate_shared_memory(gl.float32, [TOKENS], for_columns)
        gl.warp_specialize(
            [
                (
                    _second_consumer_of_size,
                    (
                        weight_smem, row_smem, full, free, weight_scales, blocks, first_step, last_step, row_scales,
                        row_scale_stride, apart, apart_rows, bias, routing_weights, slot, slots, slot_of_row,
                        row_numbers, row_weights, expert, features, first_feature, part, mine,
                        results + part.to(gl.int64) * part_stride,
                        ROWS, TOKENS, LEAST, STAGES, RESIDENT, ALIGNED, HALF_LAST, WARPS, OVERLAP, BIAS, WEIGHTED,
                    ),
                ),
                (
                    fetch,
                    (
                        weights, rows, weight_smem, row_smem, full, free,
                        first_row, first_row, 0, 0, slot, first_step, last_step, mine,
                        passes_of(apart, slots - slot, TOKENS, APART_TOKENS),
                        True, ROWS, TOKENS, STAGES, RESIDENT,
                    ),
                ),
            ],
            [1],
            [24],
        )  # fmt: skip
