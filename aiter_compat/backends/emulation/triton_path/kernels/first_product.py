"""The first product of the layer, its activation and the second rounding; `product_loop` has the arithmetic."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from aiter_compat.backends.emulation.triton_path.kernels.activation_functions import activated
from aiter_compat.backends.emulation.triton_path.kernels.block_scales import (
    e5m2_codes,
    fold,
    inverse_scale,
    magnitude_bits,
    rounded_to_grid,
    scale_byte,
    scale_value,
    shifted,
)
from aiter_compat.backends.emulation.triton_path.kernels.operand_fetch import fetch, open_buffers
from aiter_compat.backends.emulation.triton_path.kernels.product_loop import (
    PRODUCT_SCALE,
    product_layout,
    scaled_product,
)
from aiter_compat.backends.emulation.triton_path.kernels.rows_of_tile import (
    APART_TOKENS,
    INNER_BASE,
    any_apart,
    block_layout,
    is_size,
    passes_of,
    row_numbers,
)
from aiter_compat.backends.emulation.triton_path.kernels.short_numbers import to_short
from aiter_compat.backends.emulation.triton_path.tile_choice import STEP_COLUMNS

_STEP = gl.constexpr(STEP_COLUMNS)
_INNER_BASE = gl.constexpr(INNER_BASE)


@gluon.jit
def _first_consumer(
    weight_smem,
    row_smem,
    exchange_smem,
    full,
    free,
    weight_scales,
    offsets,
    blocks,
    steps,
    turn,
    row_scales,
    row_scale_stride,
    bases,
    apart_rows,
    bias,
    routing_weights,
    slot,
    slots,
    slot_of_row,
    features,
    feature,
    expert_row,
    codes,
    code_scales,
    scale_stride,
    inner_apart,
    alpha,
    beta,
    limit,
    linear_beta,
    amax_floor,
    APART: gl.constexpr,
    ROWS: gl.constexpr,
    N: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    ACTIVATION: gl.constexpr,
    GATED: gl.constexpr,
    INTERLEAVED: gl.constexpr,
    LINEAR_BETA: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
    RULE: gl.constexpr,
    SHORT: gl.constexpr,
):
    """What the multiplying warps do with the first N rows of a tile."""
    layout: gl.constexpr = product_layout(WARPS, N)
    columns = gl.arange(0, N, gl.SliceLayout(0, layout))
    here = slot + columns < slots
    base = gl.load(bases + slot + columns, mask=here, other=0)
    own_scales = gl.load(apart_rows + slot + columns, mask=here, other=0) != 0
    values = scaled_product(
        weight_smem, row_smem, full, free, weight_scales, offsets, blocks, 0, steps, turn,
        row_scales + slot, row_scale_stride, base, own_scales, APART,
        ROWS, N, STAGES, SCALES, HALF_LAST, WARPS, OVERLAP,
    )  # fmt: skip
    if not APART:
        values = values * scale_value(base)[None, :]
    values = values * PRODUCT_SCALE
    if WEIGHTED == "before_bias":
        weight = gl.load(
            routing_weights + gl.load(slot_of_row + slot + columns, mask=here, other=0), mask=here, other=0.0
        )
        values = values * weight[None, :]
    if BIAS:
        row = gl.arange(0, ROWS, gl.SliceLayout(1, layout))
        own, exists = row_numbers(row, feature, features, ROWS, GATED, INTERLEAVED)
        values = values + gl.load(bias + expert_row + own, mask=exists, other=0.0).to(gl.float32)[:, None]

    # Gate and up of a feature are in different warps, and a block of features is in several: through shared memory.
    groups: gl.constexpr = min(N // 8, 8)
    exchange: gl.constexpr = gl.SwizzledSharedLayout(vec=8, per_phase=1, max_phase=groups, order=[1, 0])
    gl.thread_barrier()
    exchanged = exchange_smem._reinterpret(gl.float32, [ROWS, N], exchange)
    exchanged.store(values)
    gl.thread_barrier()
    half: gl.constexpr = ROWS // 2 if GATED else ROWS
    of_block: gl.constexpr = block_layout(N, WARPS, (2, 4, 8, 16, 1))
    token = slot + gl.arange(0, N, gl.SliceLayout(0, of_block))
    valid = token < slots
    for block in gl.static_range(half // 32):
        gate = exchanged.slice(block * 32, 32).load(of_block)
        if GATED:
            up = exchanged.slice(half + block * 32, 32).load(of_block)
        else:
            up = gate
        inner = activated(gate, up, alpha, beta, limit, linear_beta, ACTIVATION, GATED, LINEAR_BETA)
        if WEIGHTED == "after_activation":
            weight = gl.load(routing_weights + gl.load(slot_of_row + token, mask=valid, other=0), mask=valid, other=0.0)
            inner = inner * weight[None, :]
        inner = to_short(inner, SHORT)
        largest = gl.max(magnitude_bits(inner), axis=0)
        byte = scale_byte(largest, amax_floor, RULE, 1, 6.0, 2)
        grid = rounded_to_grid(inner * inverse_scale(byte)[None, :], 1, 6.0, 0)
        byte = gl.where(largest == 0, _INNER_BASE, byte)
        shift, byte, is_apart = fold(byte, _INNER_BASE)
        # Even columns first, then odd ones; a thread holds its rows in that order already.
        in_pairs = gl.reshape(shifted(grid, shift[None, :]), [16, 2, N])
        ordered = e5m2_codes(gl.reshape(gl.permute(in_pairs, (1, 0, 2)), [32, N]))
        position = feature + block * 32 + gl.arange(0, 32, gl.SliceLayout(1, ordered.type.layout))
        to_token = (slot + gl.arange(0, N, gl.SliceLayout(0, ordered.type.layout))).to(gl.int64)
        inside = (to_token < slots)[None, :] & (position < features)[:, None]
        gl.store(codes + to_token[None, :] * features + position[:, None], ordered, mask=inside)
        number = feature // 32 + block
        complete = valid & (number * 32 < features)
        gl.store(code_scales + number.to(gl.int64) * scale_stride + token, scale_value(byte), mask=complete)
        gl.store(inner_apart + token, gl.full([N], 1, gl.uint8, gl.SliceLayout(0, of_block)), mask=complete & is_apart)


@gluon.jit
def _first_consumer_of_size(
    weight_smem,
    row_smem,
    apart_smem,
    full,
    free,
    weight_scales,
    offsets,
    blocks,
    steps,
    row_scales,
    row_scale_stride,
    bases,
    apart,
    apart_rows,
    bias,
    routing_weights,
    slot,
    slots,
    slot_of_row,
    features,
    feature,
    expert_row,
    codes,
    code_scales,
    scale_stride,
    inner_apart,
    alpha,
    beta,
    limit,
    linear_beta,
    amax_floor,
    ROWS: gl.constexpr,
    TOKENS: gl.constexpr,
    LEAST: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    ACTIVATION: gl.constexpr,
    GATED: gl.constexpr,
    INTERLEAVED: gl.constexpr,
    LINEAR_BETA: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
    RULE: gl.constexpr,
    SHORT: gl.constexpr,
):
    """`_first_consumer` for no more rows than a power of two above those that the tile holds."""
    held = slots - slot
    if apart != 0:
        for number in range(passes_of(apart, held, TOKENS, APART_TOKENS)):
            _first_consumer(
                weight_smem, row_smem, apart_smem, full, free, weight_scales, offsets, blocks, steps, number * steps,
                row_scales, row_scale_stride, bases, apart_rows, bias, routing_weights, slot + number * APART_TOKENS,
                slots, slot_of_row, features, feature, expert_row, codes, code_scales, scale_stride, inner_apart,
                alpha, beta, limit, linear_beta, amax_floor, True,
                ROWS, APART_TOKENS, STAGES, SCALES, HALF_LAST, WARPS, OVERLAP, ACTIVATION, GATED, INTERLEAVED,
                LINEAR_BETA, BIAS, WEIGHTED, RULE, SHORT,
            )  # fmt: skip
    else:
        for size in gl.static_range(3):
            if (TOKENS >> size) >= LEAST:
                fits = is_size(held, TOKENS >> size, TOKENS, size == 2 or (TOKENS >> (size + 1)) < LEAST)
                if fits:
                    _first_consumer(
                        weight_smem, row_smem, row_smem, full, free, weight_scales, offsets, blocks, steps,
                        gl.to_tensor(0), row_scales, row_scale_stride, bases, apart_rows, bias, routing_weights, slot,
                        slots, slot_of_row, features, feature, expert_row, codes, code_scales, scale_stride,
                        inner_apart, alpha, beta, limit, linear_beta, amax_floor, False,
                        ROWS, TOKENS >> size, STAGES, SCALES, HALF_LAST, WARPS, OVERLAP, ACTIVATION, GATED,
                        INTERLEAVED, LINEAR_BETA, BIAS, WEIGHTED, RULE, SHORT,
                    )  # fmt: skip


@gluon.jit(do_not_specialize=["scale_stride", "row_scale_stride"])
def first_product(
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
    bases,
    apart_rows,
    codes,
    code_scales,
    scale_stride,
    inner_apart,
    columns,
    features,
    alpha,
    beta,
    limit,
    linear_beta,
    amax_floor,
    ROWS: gl.constexpr,
    TOKENS: gl.constexpr,
    LEAST: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    ACTIVATION: gl.constexpr,
    GATED: gl.constexpr,
    INTERLEAVED: gl.constexpr,
    LINEAR_BETA: gl.constexpr,
    BIAS: gl.constexpr,
    WEIGHTED: gl.constexpr,
    RULE: gl.constexpr,
    SHORT: gl.constexpr,
):
    """Tokens times w1, bias, activation and the second rounding to MXFP4, for the rows of one tile.

    Grid: (tiles of features, tiles of rows).

    Args:
        weights: descriptor of uint8 [experts * N1, columns / 2], box [ROWS / 2, 128]; for INTERLEAVED the same memory
            as [experts * features, columns].
        rows: descriptor of e5m2 [rows, columns], box [TOKENS, 128]: rows sorted by expert, scales folded in.
        row_scales: fp32 [columns / 32, row_scale_stride]: the scales that remain, for rows that keep their own.
        weight_scales: e8m0 bytes [experts * N1, columns / 32]; with SCALES "fetched" a descriptor of them, their box as
            the one of `weights` with 16 columns.
        bias: [experts, N1] in the row order of the weights.
        routing_weights: fp32, by slot number.
        tile_expert: int32 expert of each tile, -1 for none.
        tile_row: int32 first row of each tile.
        tile_end: int32 end of the rows of its expert.
        slot_of_row: int32 slot number of each row.
        bases: int32 [rows] e8m0 bytes that the folded scales count from.
        apart_rows: uint8 [rows], not 0 where a row has blocks that keep their own scale.
        codes: uint8 [rows, features], result: e5m2 codes of the activation's output, scales folded in.
        code_scales: fp32 [features / 32, scale_stride], result: the scales that remain.
        inner_apart: uint8 [rows] zeros; set to 1 where a block keeps its own scale.
    """
    tile = gl.program_id(1)
    expert = gl.load(tile_expert + tile)
    slot = gl.load(tile_row + tile)
    slots = gl.load(tile_end + tile)
    if expert >= 0:
        width: gl.constexpr = ROWS // 2 if GATED else ROWS
        half: gl.constexpr = ROWS // 2
        feature = gl.program_id(0) * width
        blocks = columns // 32
        steps = (columns + _STEP - 1) // _STEP
        first_column = 0
        second_column = 0
        if not GATED:
            expert_row = expert * features
            first_row = expert_row + feature
            second_row = first_row + half
        else:
            expert_row = expert * features * 2
            if INTERLEAVED:
                first_row = expert * features + feature
                second_row = first_row
                second_column = columns // 2
            else:
                first_row = expert_row + feature
                second_row = first_row + features
        apart = any_apart(apart_rows, slot, slots, TOKENS, WARPS)
        weight_smem, row_smem, scales, full, free = open_buffers(rows, weight_scales, ROWS, TOKENS, STAGES, SCALES)
        # Of its own: the next pass is fetched while the pass before is exchanged.
        apart_smem = gl.allocate_shared_memory(
            gl.float32, [ROWS, APART_TOKENS], gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
        )
        row = gl.arange(0, ROWS, gl.SliceLayout(1, product_layout(WARPS, TOKENS)))
        own, exists = row_numbers(row, feature, features, ROWS, GATED, INTERLEAVED)
        own = gl.where(exists, own, 0)
        offsets = (expert_row + own) * blocks
        gl.warp_specialize(
            [
                (
                    _first_consumer_of_size,
                    (
                        weight_smem, row_smem, apart_smem, full, free, scales, offsets, blocks, steps,
                        row_scales, row_scale_stride, bases, apart, apart_rows, bias, routing_weights, slot, slots,
                        slot_of_row, features, feature, expert_row, codes, code_scales, scale_stride, inner_apart,
                        alpha, beta, limit, linear_beta, amax_floor,
                        ROWS, TOKENS, LEAST, STAGES, SCALES, HALF_LAST, WARPS, OVERLAP,
                        ACTIVATION, GATED, INTERLEAVED, LINEAR_BETA, BIAS, WEIGHTED, RULE, SHORT,
                    ),
                ),
                (
                    fetch,
                    (
                        weights, rows, weight_scales, weight_smem, row_smem, scales, full, free,
                        first_row, second_row, first_column, second_column, slot, 0, steps, 1,
                        passes_of(apart, slots - slot, TOKENS, APART_TOKENS),
                        False, ROWS, TOKENS, STAGES, SCALES,
                    ),
                ),
            ],
            [1],
            [24],
        )  # fmt: skip
