"""Both products of an MX layer in plain Triton: bf16 tensor cores, any GPU that Triton serves.

Weights are decoded in registers, a step of 128 columns at a time: code times scale is exact in bf16. Activations lie in
memory as bf16 in the order of planes (`plain_rows`), so that the codes at one place of the packed words meet
their columns without a shuffle. What bf16 does not hold lies there in several terms, whose sum is exact (`TERMS`). The
products are exact in fp32 and their sums round as the tensor cores do it.

A program computes ROWS rows of the weights for the rows of one tile. In the first product of a gated activation eight
gate rows and the eight up rows of the same features take turns, so that both halves of a feature end in one thread.
"""

from __future__ import annotations

import triton
import triton.language as tl

from aiter_compat.backends.emulation.triton_path.kernels.activation_functions import activated
from aiter_compat.backends.emulation.triton_path.kernels.block_scales import scale_value
from aiter_compat.backends.emulation.triton_path.kernels.plain_rows import (
    place_in_step,
    rounded_blocks,
    store_terms,
)
from aiter_compat.backends.emulation.triton_path.kernels.short_numbers import INTERPRETED, to_short
from aiter_compat.backends.emulation.triton_path.kernels.weight_words import (
    load_scales,
    load_words,
    plane_of,
)

_STEP = tl.constexpr(128)


@triton.jit
def _dot(left, right, sums):
    if INTERPRETED:
        sums = tl.dot(left.to(tl.float32), right.to(tl.float32), sums, input_precision="ieee")
    else:
        sums = tl.dot(left, right, sums)
    return sums


@triton.jit
def _decoded(words, scale, FORMAT: tl.constexpr):
    """bf16 [ROWS, 128] in the order of planes."""
    rows: tl.constexpr = words.shape[0]
    p0 = (plane_of(words, 0, FORMAT) * scale).to(tl.bfloat16)
    p1 = (plane_of(words, 1, FORMAT) * scale).to(tl.bfloat16)
    p2 = (plane_of(words, 2, FORMAT) * scale).to(tl.bfloat16)
    p3 = (plane_of(words, 3, FORMAT) * scale).to(tl.bfloat16)
    p4 = (plane_of(words, 4, FORMAT) * scale).to(tl.bfloat16)
    p5 = (plane_of(words, 5, FORMAT) * scale).to(tl.bfloat16)
    p6 = (plane_of(words, 6, FORMAT) * scale).to(tl.bfloat16)
    p7 = (plane_of(words, 7, FORMAT) * scale).to(tl.bfloat16)
    low = tl.join(tl.join(p0, p1), tl.join(p2, p3))
    high = tl.join(tl.join(p4, p5), tl.join(p6, p7))
    return tl.reshape(tl.permute(tl.join(low, high), (0, 4, 3, 2, 1)), [rows, 128])


@triton.jit
def _product(
    matrix, scales, row, exists, rows, row_bytes, blocks, stored_blocks, activations, activation_row, present,
    term_stride, activation_stride,
    STEPS: tl.constexpr, TERMS: tl.constexpr, FORMAT: tl.constexpr, WORD_BYTES: tl.constexpr, ALIGNED: tl.constexpr,
    LAYOUT: tl.constexpr, GATE_UP: tl.constexpr,
):  # fmt: skip
    """fp32 [ROWS, TOKENS]: rows of an expert's matrix times rows of activations.

    Args:
        matrix, scales: pointers to those of the expert.
        row, exists: [ROWS] rows of the matrix, and whether they are there.
        activations: pointer to bf16 [TERMS, rows, activation_stride].
        activation_row, present: [TOKENS] int64 rows of the activations, and whether they are there.
    """
    sums = tl.zeros([row.shape[0], activation_row.shape[0]], tl.float32)
    columns = activations + (activation_row * activation_stride)[None, :]
    for step in range(STEPS):
        words = load_words(matrix, row, exists, step, rows, row_bytes, WORD_BYTES, LAYOUT, GATE_UP)
        byte = load_scales(
            scales, row, exists, step, rows, blocks, stored_blocks, ALIGNED, LAYOUT, GATE_UP,
        )  # fmt: skip
        scale = scale_value(byte)
        left = _decoded(words, scale, FORMAT)
        at = step * _STEP + tl.arange(0, _STEP)
        for term in tl.static_range(TERMS):
            right = tl.load(columns + term * term_stride + at[:, None], mask=present[None, :], other=0.0)
            sums = _dot(left, right, sums)
    return sums


@triton.jit(do_not_specialize=["experts_from", "experts_to", "choices"])
def plain_first_product(
    weights, weight_scales, bias, routing_weights, tile_expert, tile_row, tile_end, slot_of_row,
    activations, activation_stride, activation_terms, results, result_stride, result_terms,
    experts_from, experts_to, rows, row_bytes, blocks, stored_blocks, scale_bytes, features, choices,
    alpha, beta, limit, linear_beta, amax_floor,
    ROWS: tl.constexpr, TOKENS: tl.constexpr, STEPS: tl.constexpr, TERMS: tl.constexpr, RESULT_TERMS: tl.constexpr,
    FORMAT: tl.constexpr, WORD_BYTES: tl.constexpr, ALIGNED: tl.constexpr, LAYOUT: tl.constexpr,
    ACTIVATION: tl.constexpr, GATED: tl.constexpr, INTERLEAVED: tl.constexpr, LINEAR_BETA: tl.constexpr,
    BIAS: tl.constexpr, WEIGHTED: tl.constexpr, ROUNDING: tl.constexpr, RULE: tl.constexpr, SHORT: tl.constexpr,
):  # fmt: skip
    """Tokens times w1, bias, activation and the second rounding, for the rows of one tile.

    Grid: (tiles of the result's features up to a whole step, tiles of rows).

    Args:
        weights: uint8 [experts, rows, row_bytes] in LAYOUT.
        weight_scales: e8m0 bytes, `scale_bytes` of them an expert.
        bias: [experts, rows] in the row order of the weights.
        routing_weights: fp32, by slot number.
        tile_expert, tile_row, tile_end, slot_of_row: what `place_rows` wrote.
        activations: bf16 [TERMS, M, activation_stride] by token, `activation_terms` from one term to the next.
        results: bf16 [RESULT_TERMS, rows, result_stride] by row, likewise; columns from `features` on get 0.
        experts_from, experts_to: the experts whose matrices these are; tiles of others are left alone.
        rows: of a matrix: twice the features when GATED.
        choices: slots a token.
    """
    tile = tl.program_id(1)
    expert = tl.load(tile_expert + tile)
    if (expert >= experts_from) & (expert < experts_to):
        own_expert = (expert - experts_from).to(tl.int64)
        first = tl.load(tile_row + tile)
        row = first + tl.arange(0, TOKENS)
        present = row < tl.load(tile_end + tile)
        slot = tl.load(slot_of_row + row, mask=present, other=0)
        width: tl.constexpr = ROWS // 2 if GATED else ROWS
        feature_from = tl.program_id(0) * width
        in_tile = tl.arange(0, ROWS)
        if GATED:
            feature = feature_from + in_tile // 16 * 8 + in_tile % 8
            is_up = in_tile // 8 % 2
            matrix_row = 2 * feature + is_up if INTERLEAVED else feature + is_up * features
        else:
            feature = feature_from + in_tile
            matrix_row = feature
        exists = feature < features
        matrix_row = tl.where(exists, matrix_row, 0)
        sums = _product(
            weights + own_expert * rows * row_bytes, weight_scales + own_expert * scale_bytes, matrix_row, exists,
            rows, row_bytes, blocks, stored_blocks, activations, (slot // choices).to(tl.int64), present,
            activation_terms, activation_stride,
            STEPS, TERMS, FORMAT, WORD_BYTES, ALIGNED, LAYOUT, GATED,
        )  # fmt: skip
        if WEIGHTED != "no":
            weight = tl.load(routing_weights + slot, mask=present, other=0.0)
        if WEIGHTED == "before_bias":
            sums *= weight[None, :]
        if BIAS:
            own = tl.load(bias + own_expert * rows + matrix_row, mask=exists, other=0.0).to(tl.float32)
            sums += own[:, None]
        if GATED:
            halves = tl.permute(tl.reshape(sums, [ROWS // 16, 2, 8, TOKENS]), (0, 2, 3, 1))
            gate, up = tl.split(halves)
            gate = tl.reshape(gate, [width, TOKENS])
            up = tl.reshape(up, [width, TOKENS])
        else:
            gate = sums
            up = sums
        values = activated(gate, up, alpha, beta, limit, linear_beta, ACTIVATION, GATED, LINEAR_BETA)
        if WEIGHTED == "after_activation":
            values *= weight[None, :]
        values = to_short(values, SHORT)
        blocks_of_tile = tl.reshape(values, [width // 32, 32, TOKENS])
        values = tl.reshape(rounded_blocks(blocks_of_tile, 1, amax_floor, ROUNDING, RULE), [width, TOKENS])
        result_feature = feature_from + tl.arange(0, width)
        values = tl.where((result_feature < features)[:, None], values, 0.0)
        place = (result_feature // 128 * 128) + place_in_step(result_feature % 128)
        target = results + (row.to(tl.int64) * result_stride)[None, :] + place[:, None]
        store_terms(target, values, present[None, :] & (place < result_stride)[:, None], result_terms, RESULT_TERMS)


@triton.jit(do_not_specialize=["experts_from", "experts_to"])
def plain_second_product(
    weights, weight_scales, bias, routing_weights, tile_expert, tile_row, tile_end, slot_of_row,
    activations, activation_stride, activation_terms, results,
    experts_from, experts_to, row_bytes, blocks, stored_blocks, scale_bytes, features,
    ROWS: tl.constexpr, TOKENS: tl.constexpr, STEPS: tl.constexpr, TERMS: tl.constexpr, FORMAT: tl.constexpr,
    WORD_BYTES: tl.constexpr, ALIGNED: tl.constexpr, LAYOUT: tl.constexpr, BIAS: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Activations times w2, bias and routing weight, for the rows of one tile.

    Grid: (tiles of features, tiles of rows).

    Args:
        weights: uint8 [experts, features, row_bytes] in LAYOUT.
        activations: bf16 [TERMS, rows, activation_stride], as `plain_first_product` wrote them.
        results: fp32 [rows, features].
    """
    tile = tl.program_id(1)
    expert = tl.load(tile_expert + tile)
    if (expert >= experts_from) & (expert < experts_to):
        own_expert = (expert - experts_from).to(tl.int64)
        row = tl.load(tile_row + tile) + tl.arange(0, TOKENS)
        present = row < tl.load(tile_end + tile)
        feature = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        exists = feature < features
        matrix_row = tl.where(exists, feature, 0)
        sums = _product(
            weights + own_expert * features * row_bytes, weight_scales + own_expert * scale_bytes, matrix_row, exists,
            features, row_bytes, blocks, stored_blocks, activations, row.to(tl.int64), present,
            activation_terms, activation_stride,
            STEPS, TERMS, FORMAT, WORD_BYTES, ALIGNED, LAYOUT, False,
        )  # fmt: skip
        if BIAS:
            own = tl.load(bias + own_expert * features + matrix_row, mask=exists, other=0.0).to(tl.float32)
            sums += own[:, None]
        if WEIGHTED:
            slot = tl.load(slot_of_row + row, mask=present, other=0)
            sums *= tl.load(routing_weights + slot, mask=present, other=0.0)[None, :]
        target = results + (row.to(tl.int64) * features)[None, :] + feature[:, None]
        tl.store(target, sums, mask=present[None, :] & exists[:, None])
