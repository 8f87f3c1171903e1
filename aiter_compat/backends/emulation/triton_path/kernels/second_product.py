"""The second product of the layer, its bias and the routing weights; `product_loop` has the arithmetic."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from aiter_compat.backends.emulation.triton_path.kernels.operand_fetch import fetch, open_buffers
from aiter_compat.backends.emulation.triton_path.kernels.product_loop import (
    PRODUCT_SCALE,
    product_layout,
    scaled_product,
)
from aiter_compat.backends.emulation.triton_path.kernels.result_store import (
    box_left,
    open_box,
    own_row,
    store_box,
    store_rows,
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


@gluon.jit
def _copy_scales(scales, scale_smem, expert, feature, features, blocks, ROWS: gl.constexpr, WARPS: gl.constexpr):
    """Begin to copy the scales of a tile of features, all up to 16 of a row, in the order of `boxes.paired_boxes`."""
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [8, 4], [WARPS, 1], [1, 0])
    place = gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    row = expert * features + gl.minimum(feature + own_row(place), features - 1)
    word = gl.arange(0, 4, gl.SliceLayout(0, layout))
    words = scales.to(gl.pointer_type(gl.int32), bitcast=True)
    from_words = words + (row * (blocks // 4))[:, None] + word[None, :]
    async_copy.async_copy_global_to_shared(scale_smem, from_words, (word * 4 < blocks)[None, :])
    async_copy.commit_group()


@gluon.jit
def _second_consumer(
    weight_smem,
    row_smem,
    scale_smem,
    full,
    free,
    scales,
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
    box_smem,
    expert,
    features,
    first_feature,
    part,
    repeats,
    results,
    result_boxes,
    APART: gl.constexpr,
    ROWS: gl.constexpr,
    N: gl.constexpr,
    TOKENS: gl.constexpr,
    STAGES: gl.constexpr,
    RESIDENT: gl.constexpr,
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
    BOXED: gl.constexpr,
):
    """What the multiplying warps do with the first N rows of a tile, for one tile of features after the other."""
    layout: gl.constexpr = product_layout(WARPS, N)
    base = gl.full([N], _INNER_BASE, gl.int32, gl.SliceLayout(0, layout))
    columns = slot + gl.arange(0, N, gl.SliceLayout(0, layout))
    here = columns < slots
    own_scales = gl.load(apart_rows + columns, mask=here, other=0) != 0
    place = gl.arange(0, ROWS, gl.SliceLayout(1, layout))
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
    if SCALES == "copied":
        _copy_scales(scales, scale_smem.index(0), expert, first_feature, features, blocks, ROWS, WARPS)
    for repeat in range(repeats):
        row = first_feature + repeat * ROWS + own_row(place)
        if SCALES == "copied":
            # Those of the next tile are on their way while this one is computed.
            scales_here = scale_smem.index(repeat % 2)
            async_copy.wait_group(0)
            gl.thread_barrier()
            if repeat + 1 < repeats:
                _copy_scales(
                    scales, scale_smem.index((repeat + 1) % 2), expert, first_feature + (repeat + 1) * ROWS,
                    features, blocks, ROWS, WARPS,
                )  # fmt: skip
        else:
            scales_here = scales
        offsets = (expert * features + gl.minimum(row, features - 1)) * blocks
        values = scaled_product(
            weight_smem, row_smem, full, free, scales_here, offsets, blocks, first_step, last_step,
            turn + repeat * (last_step - first_step), row_scales + slot, row_scale_stride, base, own_scales, APART,
            ROWS, N, STAGES, SCALES, HALF_LAST, WARPS, OVERLAP, RESIDENT,
        )  # fmt: skip
        if BIAS:
            values = values * (PRODUCT_SCALE if APART else _FOLDED_SCALE)
            own = gl.load(bias + expert * features + row, mask=(row < features) & (part == 0), other=0.0).to(gl.float32)
            values = values + own[:, None]
        if WEIGHTED or not BIAS:
            values = values * weights_smem.load(gl.SliceLayout(0, layout))[None, :]
        feature = first_feature + repeat * ROWS
        # A box would overwrite what follows a tile that is not full.
        if BOXED and N == TOKENS and not APART:
            if slots - slot >= N:
                store_box(values, result_boxes, box_smem, feature, slot, WARPS)
            else:
                store_rows(values, results, feature, features, numbers_smem, WARPS)
        else:
            store_rows(values, results, feature, features, numbers_smem, WARPS)
    if BOXED:
        box_left()


@gluon.jit
def _second_consumer_of_size(
    weight_smem,
    row_smem,
    scale_smem,
    full,
    free,
    scales,
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
    box_smem,
    expert,
    features,
    first_feature,
    part,
    repeats,
    results,
    result_boxes,
    ROWS: gl.constexpr,
    TOKENS: gl.constexpr,
    LEAST: gl.constexpr,
    STAGES: gl.constexpr,
    RESIDENT: gl.constexpr,
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
    BOXED: gl.constexpr,
):
    """`_second_consumer` for no more rows than a power of two above those that the tile holds."""
    held = slots - slot
    if apart != 0:
        for number in range(passes_of(apart, held, TOKENS, APART_TOKENS)):
            _second_consumer(
                weight_smem, row_smem, scale_smem, full, free, scales, blocks, first_step, last_step,
                number * repeats * (last_step - first_step), row_scales, row_scale_stride, apart_rows, bias,
                routing_weights, slot + number * APART_TOKENS, slots, slot_of_row, row_numbers, row_weights,
                box_smem, expert, features, first_feature, part, repeats, results, result_boxes, True,
                ROWS, APART_TOKENS, TOKENS, STAGES, RESIDENT, SCALES, HALF_LAST, WARPS, OVERLAP, BIAS, WEIGHTED, BOXED,
            )  # fmt: skip
    else:
        for size in gl.static_range(3):
            if (TOKENS >> size) >= LEAST:
                fits = is_size(held, TOKENS >> size, TOKENS, size == 2 or (TOKENS >> (size + 1)) < LEAST)
                if fits:
                    _second_consumer(
                        weight_smem, row_smem, scale_smem, full, free, scales, blocks, first_step, last_step,
                        gl.to_tensor(0), row_scales, row_scale_stride, apart_rows, bias, routing_weights, slot, slots,
                        slot_of_row, row_numbers, row_weights, box_smem, expert, features, first_feature, part,
                        repeats, results, result_boxes, False,
                        ROWS, TOKENS >> size, TOKENS, STAGES, RESIDENT, SCALES, HALF_LAST, WARPS, OVERLAP,
                        BIAS, WEIGHTED, BOXED,
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
    result_boxes,
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
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
    BOXED: gl.constexpr,
):
    """Activations times w2, bias and routing weight, for the rows of one tile.

    Grid: (tiles of features / repeats, tiles of rows, parts): a program computes `repeats` tiles of features, one after
    the other, while the next operands are on their way already; the columns are shared among the parts.

    Args:
        weights: descriptor of uint8 [experts * features, columns / 2] from `boxes.paired_boxes`, ROWS rows a box.
        rows: descriptor of e5m2 [rows, columns], box [TOKENS, 128], scales folded in.
        row_scales: fp32 [columns / 32, row_scale_stride]: the scales that remain.
        weight_scales: e8m0 bytes [experts * features, columns / 32]; with SCALES "fetched" a descriptor of them, their
            box as the one of `weights` with 16 columns. With "copied" rows have up to 16 and begin at words.
        bias: [experts, features].
        routing_weights: fp32, by slot number; applied when WEIGHTED.
        tile_expert, tile_row, tile_end, slot_of_row: as for `first_product`.
        apart_rows: uint8 [rows], not 0 where a row has blocks that keep their own scale.
        results: fp32 [parts, rows, features]; parts are to be added.
        result_boxes: BOXED, a descriptor of them from `boxes.feature_boxes`, with one part; else not read.
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
        weight_smem, row_smem, scales, full, free = open_buffers(
            rows, weight_scales, ROWS, TOKENS, STAGES, SCALES, RESIDENT
        )
        copied = weight_smem  # not read
        if SCALES == "copied":
            copied = gl.allocate_shared_memory(
                gl.int32, [2, ROWS, 4], gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0])
            )
        for_columns: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
        row_numbers = gl.allocate_shared_memory(gl.int32, [TOKENS], for_columns)
        row_weights = gl.allocate_shared_memory(gl.float32, [TOKENS], for_columns)
        box_smem = row_weights  # not read
        if BOXED:
            box_smem = open_box(result_boxes)
        gl.warp_specialize(
            [
                (
                    _second_consumer_of_size,
                    (
                        weight_smem, row_smem, copied, full, free, scales, blocks, first_step, last_step, row_scales,
                        row_scale_stride, apart, apart_rows, bias, routing_weights, slot, slots, slot_of_row,
                        row_numbers, row_weights, box_smem, expert, features, first_feature, part, mine,
                        results + part.to(gl.int64) * part_stride, result_boxes,
                        ROWS, TOKENS, LEAST, STAGES, RESIDENT, SCALES, HALF_LAST, WARPS, OVERLAP, BIAS, WEIGHTED, BOXED,
                    ),
                ),
                (
                    fetch,
                    (
                        weights, rows, weight_scales, weight_smem, row_smem, scales, full, free,
                        first_row, first_row, 0, 0, slot, first_step, last_step, mine,
                        passes_of(apart, slots - slot, TOKENS, APART_TOKENS),
                        True, ROWS, TOKENS, STAGES, SCALES, RESIDENT,
                    ),
                ),
            ],
            [1],
            [24],
        )  # fmt: skip
