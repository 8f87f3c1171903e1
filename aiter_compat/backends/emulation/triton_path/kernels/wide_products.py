"""Both products of a layer with bf16 activations on Hopper; `wide_loop` has the arithmetic.

They take the place of `plain_products` where the weights are MXFP4 in rows, and read and write the same tensors, but
for the activations of the first product, which lie by row and not by token.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from aiter_compat.backends.emulation.triton_path.kernels.activation_functions import activated
from aiter_compat.backends.emulation.triton_path.kernels.plain_rows import rounded_blocks
from aiter_compat.backends.emulation.triton_path.kernels.rows_of_tile import block_layout, is_size, row_numbers
from aiter_compat.backends.emulation.triton_path.kernels.short_numbers import to_short
from aiter_compat.backends.emulation.triton_path.kernels.wide_loop import (
    fetch_wide,
    open_wide_buffers,
    wide_layout,
    wide_product,
)


@gluon.jit
def _first_consumer(
    weight_smem, row_smem, full, free, weight_scales, offsets, blocks, steps, bias, routing_weights, slot, slots,
    slot_of_row, features, feature, expert_row, results, result_stride, alpha, beta, limit, linear_beta, amax_floor,
    ROWS: gl.constexpr, N: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr, ALIGNED: gl.constexpr,
    WARPS: gl.constexpr, ACTIVATION: gl.constexpr, GATED: gl.constexpr, INTERLEAVED: gl.constexpr,
    LINEAR_BETA: gl.constexpr, BIAS: gl.constexpr, WEIGHTED: gl.constexpr, ROUNDING: gl.constexpr, RULE: gl.constexpr,
    SHORT: gl.constexpr,
):  # fmt: skip
    """What the multiplying warps do with the first N rows of a tile."""
    layout: gl.constexpr = wide_layout(WARPS, N)
    values = wide_product(
        weight_smem, row_smem, full, free, weight_scales, offsets, blocks, steps, gl.to_tensor(0),
        ROWS, N, STEP, STAGES, ALIGNED, WARPS,
    )  # fmt: skip
    if WEIGHTED == "before_bias":
        columns = slot + gl.arange(0, N, gl.SliceLayout(0, layout))
        here = columns < slots
        weight = gl.load(routing_weights + gl.load(slot_of_row + columns, mask=here, other=0), mask=here, other=0.0)
        values = values * weight[None, :]
    if BIAS:
        row = gl.arange(0, ROWS, gl.SliceLayout(1, layout))
        own, exists = row_numbers(row, feature, features, ROWS, GATED, INTERLEAVED)
        values = values + gl.load(bias + expert_row + own, mask=exists, other=0.0).to(gl.float32)[:, None]

    # Gate and up of a feature are in different warps, and a block of features is in several: through shared memory.
    groups: gl.constexpr = min(N // 8, 8)
    exchange: gl.constexpr = gl.SwizzledSharedLayout(vec=8, per_phase=1, max_phase=groups, order=[1, 0])
    gl.thread_barrier()
    exchanged = row_smem._reinterpret(gl.float32, [ROWS, N], exchange)
    exchanged.store(values)
    gl.thread_barrier()
    half: gl.constexpr = ROWS // 2 if GATED else ROWS
    of_block: gl.constexpr = block_layout(N, WARPS, (8, 16, 1, 2, 4))
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
        inner = rounded_blocks(inner, 0, amax_floor, ROUNDING, RULE)
        # Columns lie by their place in a word of eight: of a block, the four that have the same are neighbours.
        ordered = gl.reshape(gl.permute(gl.reshape(inner.to(gl.bfloat16), [4, 8, N]), (1, 0, 2)), [32, N])
        line = gl.arange(0, 32, gl.SliceLayout(1, ordered.type.layout))
        first = feature + block * 32
        position = first // 128 * 128 + first % 128 // 8 + line // 4 * 16 + line % 4
        exists = first + line % 4 * 8 + line // 4 < features
        to_token = (slot + gl.arange(0, N, gl.SliceLayout(0, ordered.type.layout))).to(gl.int64)
        ordered = gl.where(exists[:, None], ordered, gl.zeros_like(ordered))
        inside = (to_token < slots)[None, :] & (position < result_stride)[:, None]
        gl.store(results + to_token[None, :] * result_stride + position[:, None], ordered, mask=inside)


@gluon.jit
def _first_consumer_of_size(
    weight_smem, row_smem, full, free, weight_scales, offsets, blocks, steps, bias, routing_weights, slot, slots,
    slot_of_row, features, feature, expert_row, results, result_stride, alpha, beta, limit, linear_beta, amax_floor,
    ROWS: gl.constexpr, TOKENS: gl.constexpr, LEAST: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr,
    ALIGNED: gl.constexpr, WARPS: gl.constexpr, ACTIVATION: gl.constexpr, GATED: gl.constexpr,
    INTERLEAVED: gl.constexpr, LINEAR_BETA: gl.constexpr, BIAS: gl.constexpr, WEIGHTED: gl.constexpr,
    ROUNDING: gl.constexpr, RULE: gl.constexpr, SHORT: gl.constexpr,
):  # fmt: skip
    """`_first_consumer` for no more rows than a power of two above those that the tile holds."""
    for size in gl.static_range(3):
        if (TOKENS >> size) >= LEAST:
            fits = is_size(slots - slot, TOKENS >> size, TOKENS, size == 2 or (TOKENS >> (size + 1)) < LEAST)
            if fits:
                _first_consumer(
                    weight_smem, row_smem, full, free, weight_scales, offsets, blocks, steps, bias, routing_weights,
                    slot, slots, slot_of_row, features, feature, expert_row, results, result_stride, alpha, beta,
                    limit, linear_beta, amax_floor,
                    ROWS, TOKENS >> size, STEP, STAGES, ALIGNED, WARPS, ACTIVATION, GATED, INTERLEAVED, LINEAR_BETA,
                    BIAS, WEIGHTED, ROUNDING, RULE, SHORT,
                )  # fmt: skip


@gluon.jit
def wide_first_product(
    weights, rows, weight_scales, bias, routing_weights, tile_expert, tile_row, tile_end, slot_of_row,
    results, result_stride, columns, features, alpha, beta, limit, linear_beta, amax_floor,
    ROWS: gl.constexpr, TOKENS: gl.constexpr, LEAST: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr,
    ALIGNED: gl.constexpr, WARPS: gl.constexpr, ACTIVATION: gl.constexpr, GATED: gl.constexpr,
    INTERLEAVED: gl.constexpr, LINEAR_BETA: gl.constexpr, BIAS: gl.constexpr, WEIGHTED: gl.constexpr,
    ROUNDING: gl.constexpr, RULE: gl.constexpr, SHORT: gl.constexpr,
):  # fmt: skip
    """Tokens times w1, bias, activation and the second rounding, for the rows of one tile.

    Grid: (tiles of the result's features up to a whole step, tiles of rows).

    Args:
        weights: descriptor of int32 [experts * N1, columns / 8], box [ROWS / 2, STEP / 8]; for INTERLEAVED the same
            memory as [experts * features, columns / 4].
        rows: descriptor of bf16 [rows, columns up to a whole step], box [TOKENS, 64], in the order of planes.
        weight_scales: e8m0 bytes [experts * N1, columns / 32].
        bias: [experts, N1] in the row order of the weights.
        results: bf16 [rows, result_stride]: by row, in the order of planes; columns from `features` on get 0.
        columns: of the weights, in codes.
        STEP: columns that are fetched at once, 128 or 256.
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
        steps = (columns + STEP - 1) // STEP
        first_word = 0
        second_word = 0
        if not GATED:
            expert_row = expert * features
            first_row = expert_row + feature
            second_row = first_row + half
        else:
            expert_row = expert * features * 2
            if INTERLEAVED:
                first_row = expert * features + feature
                second_row = first_row
                second_word = columns // 8
            else:
                first_row = expert_row + feature
                second_row = first_row + features
        weight_smem, row_smem, full, free = open_wide_buffers(weights, rows, ROWS, TOKENS, STEP, STAGES)
        row = gl.arange(0, ROWS, gl.SliceLayout(1, wide_layout(WARPS, TOKENS)))
        own, exists = row_numbers(row, feature, features, ROWS, GATED, INTERLEAVED)
        own = gl.where(exists, own, 0)
        offsets = (expert_row + own) * blocks
        gl.warp_specialize(
            [
                (
                    _first_consumer_of_size,
                    (
                        weight_smem, row_smem, full, free, weight_scales, offsets, blocks, steps, bias,
                        routing_weights, slot, slots, slot_of_row, features, feature, expert_row, results,
                        result_stride, alpha, beta, limit, linear_beta, amax_floor,
                        ROWS, TOKENS, LEAST, STEP, STAGES, ALIGNED, WARPS,
                        ACTIVATION, GATED, INTERLEAVED, LINEAR_BETA, BIAS, WEIGHTED, ROUNDING, RULE, SHORT,
                    ),
                ),
                (
                    fetch_wide,
                    (
                        weights, rows, weight_smem, row_smem, full, free,
                        first_row, second_row, first_word, second_word, slot, steps, 1,
                        ROWS, TOKENS, STEP, STAGES,
                    ),
                ),
            ],
            [1],
            [24],
        )  # fmt: skip


@gluon.jit
def _second_consumer(
    weight_smem, row_smem, full, free, weight_scales, blocks, steps, bias, routing_weights, slot, slots, slot_of_row,
    expert, features, first_feature, repeats, results,
    ROWS: gl.constexpr, N: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr, ALIGNED: gl.constexpr,
    WARPS: gl.constexpr, BIAS: gl.constexpr, WEIGHTED: gl.constexpr,
):  # fmt: skip
    """What the multiplying warps do with the first N rows of a tile, for one tile of features after the other."""
    layout: gl.constexpr = wide_layout(WARPS, N)
    columns = slot + gl.arange(0, N, gl.SliceLayout(0, layout))
    here = columns < slots
    for repeat in range(repeats):
        row = first_feature + repeat * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, layout))
        exists = row < features
        offsets = (expert * features + gl.where(exists, row, 0)) * blocks
        values = wide_product(
            weight_smem, row_smem, full, free, weight_scales, offsets, blocks, steps, repeat * steps,
            ROWS, N, STEP, STAGES, ALIGNED, WARPS,
        )  # fmt: skip
        if BIAS:
            own = gl.load(bias + expert * features + row, mask=exists, other=0.0).to(gl.float32)
            values = values + own[:, None]
        # Read here and not before: addresses of all columns fill the registers that the product needs.
        if WEIGHTED:
            number = gl.load(slot_of_row + columns, mask=here, other=0)
            values = values * gl.load(routing_weights + number, mask=here, other=0.0)[None, :]
        targets = results + columns.to(gl.int64) * features
        gl.store(targets[None, :] + row[:, None], values, mask=here[None, :] & exists[:, None])


@gluon.jit
def _second_consumer_of_size(
    weight_smem, row_smem, full, free, weight_scales, blocks, steps, bias, routing_weights, slot, slots, slot_of_row,
    expert, features, first_feature, repeats, results,
    ROWS: gl.constexpr, TOKENS: gl.constexpr, LEAST: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr,
    ALIGNED: gl.constexpr, WARPS: gl.constexpr, BIAS: gl.constexpr, WEIGHTED: gl.constexpr,
):  # fmt: skip
    """`_second_consumer` for no more rows than a power of two above those that the tile holds."""
    for size in gl.static_range(3):
        if (TOKENS >> size) >= LEAST:
            fits = is_size(slots - slot, TOKENS >> size, TOKENS, size == 2 or (TOKENS >> (size + 1)) < LEAST)
            if fits:
                _second_consumer(
                    weight_smem, row_smem, full, free, weight_scales, blocks, steps, bias, routing_weights, slot,
                    slots, slot_of_row, expert, features, first_feature, repeats, results,
                    ROWS, TOKENS >> size, STEP, STAGES, ALIGNED, WARPS, BIAS, WEIGHTED,
                )  # fmt: skip


@gluon.jit(do_not_specialize=["repeats"])
def wide_second_product(
    weights, rows, weight_scales, bias, routing_weights, tile_expert, tile_row, tile_end, slot_of_row,
    results, columns, features, repeats,
    ROWS: gl.constexpr, TOKENS: gl.constexpr, LEAST: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr,
    ALIGNED: gl.constexpr, WARPS: gl.constexpr, BIAS: gl.constexpr, WEIGHTED: gl.constexpr,
):  # fmt: skip
    """Activations times w2, bias and routing weight, for the rows of one tile.

    Grid: (tiles of features / repeats, tiles of rows): a program computes `repeats` tiles of features, one after the
    other, while the next operands are on their way already.

    Args:
        weights: descriptor of int32 [experts * features, columns / 8], box [ROWS / 2, STEP / 8].
        rows: as for `wide_first_product`.
        weight_scales: e8m0 bytes [experts * features, columns / 32].
        bias: [experts, features].
        results: fp32 [rows, features].
    """
    tile = gl.program_id(1)
    expert = gl.load(tile_expert + tile)
    slot = gl.load(tile_row + tile)
    slots = gl.load(tile_end + tile)
    if expert >= 0:
        half: gl.constexpr = ROWS // 2
        blocks = columns // 32
        steps = (columns + STEP - 1) // STEP
        first_feature = gl.program_id(0) * ROWS * repeats
        mine = gl.minimum(repeats, (features - first_feature + ROWS - 1) // ROWS)
        first_row = expert * features + first_feature
        weight_smem, row_smem, full, free = open_wide_buffers(weights, rows, ROWS, TOKENS, STEP, STAGES)
        gl.warp_specialize(
            [
                (
                    _second_consumer_of_size,
                    (
                        weight_smem, row_smem, full, free, weight_scales, blocks, steps, bias, routing_weights, slot,
                        slots, slot_of_row, expert, features, first_feature, mine, results,
                        ROWS, TOKENS, LEAST, STEP, STAGES, ALIGNED, WARPS, BIAS, WEIGHTED,
                    ),
                ),
                (
                    fetch_wide,
                    (
                        weights, rows, weight_smem, row_smem, full, free,
                        first_row, first_row + half, 0, 0, slot, steps, mine,
                        ROWS, TOKENS, STEP, STAGES,
                    ),
                ),
            ],
            [1],
            [24],
        )  # fmt: skip
