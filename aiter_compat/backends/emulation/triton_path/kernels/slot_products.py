"""Products of the slots form: each slot multiplies its expert's matrices by itself, which few tokens allow.

No slots are sorted, nothing is placed, and a matrix that two slots share is read twice. Three launches make the layer:
tokens are rounded; multiplied by w1, activated and rounded again; multiplied by w2, and a token's slots added up.

Both operands of a product are MXFP4. Twice an e2m1 element is an integer up to 12, so that a block's dot product is
an integer up to 32 * 144: exact, in whatever order it is added. Scales are powers of two and multiply it exactly too.
Only the sum over blocks rounds, in fp32.
"""

from __future__ import annotations

import triton
import triton.language as tl

from aiter_compat.backends.emulation.triton_path.kernels.activation_functions import activated
from aiter_compat.backends.emulation.triton_path.kernels.block_scales import scale_value
from aiter_compat.backends.emulation.triton_path.kernels.integer_blocks import (
    dots_of_words,
    integer_words,
    magnitude_table,
)
from aiter_compat.backends.emulation.triton_path.kernels.placement import experts_of_slots
from aiter_compat.backends.emulation.triton_path.kernels.short_numbers import to_short

_PRODUCT_SCALE = tl.constexpr(0.25)
"""Both operands are multiplied as twice their value."""


@triton.jit
def _store_rounded(values, codes, code_bytes, block, blocks, amax_floor, RULE: tl.constexpr):
    """Round blocks of values and write them to the row of an operand.

    Args:
        values: fp32 [BLOCKS, 32].
        codes: pointer to int32 [2, blocks * 4]: for each word of the weights, the words that its first and its last
            four codes are multiplied by.
        code_bytes: pointer to uint8 [blocks].
        block: int32 [BLOCKS] numbers of the blocks.
    """
    words, byte = integer_words(values, amax_floor, RULE)
    word = tl.arange(0, 8)[None, :]
    place = word % 2 * (blocks * 4) + block[:, None] * 4 + word // 2
    tl.store(codes + place, words, mask=(block < blocks)[:, None])
    tl.store(code_bytes + block, byte.to(tl.uint8), mask=block < blocks)


@triton.jit
def round_slot_tokens(
    hidden, hidden_stride, codes, code_bytes, columns, amax_floor, BLOCKS: tl.constexpr, RULE: tl.constexpr
):  # fmt: skip
    """Round tokens to MXFP4.

    Grid: (tokens, pieces of BLOCKS blocks).

    Args:
        hidden: [M, columns] bf16, fp16 or fp32, `hidden_stride` from one token to the next.
        codes, code_bytes: result: int32 [M, 2, columns / 8] and uint8 [M, columns / 32], written by `_store_rounded`.
    """
    token = tl.program_id(0).to(tl.int64)
    blocks = columns // 32
    block = tl.program_id(1) * BLOCKS + tl.arange(0, BLOCKS)
    column = block[:, None] * 32 + tl.arange(0, 32)[None, :]
    values = tl.load(hidden + token * hidden_stride + column, mask=column < columns, other=0.0).to(tl.float32)
    _store_rounded(values, codes + token * (blocks * 8), code_bytes + token * blocks, block, blocks, amax_floor, RULE)


@triton.jit
def _fetched(weights, scales, matrix_row, exists, step, blocks, BLOCKS: tl.constexpr):
    """Weights of one step: packed words int32 [S, ROWS, BLOCKS * 4] and the bytes of their scales [S, ROWS, BLOCKS].

    Args:
        weights: pointer to int32 [matrix rows, blocks * 4].
        scales: pointer to uint8 [matrix rows, blocks].
        matrix_row: int64 [S, ROWS].
        exists: [S, ROWS]; the words of other rows are 0.
    """
    word = step * (BLOCKS * 4) + tl.arange(0, BLOCKS * 4)
    block = step * BLOCKS + tl.arange(0, BLOCKS)
    first = matrix_row * blocks
    words = tl.load(
        (weights + first * 4)[:, :, None] + word[None, None, :],
        mask=exists[:, :, None] & (word < blocks * 4)[None, None, :],
        other=0,
    )
    byte = tl.load(
        (scales + first)[:, :, None] + block[None, None, :],
        mask=exists[:, :, None] & (block < blocks)[None, None, :],
        other=127,
    )
    return words, byte


@triton.jit
def _scale_of(byte):
    """`scale_value` in fewer instructions: byte 0 is the subnormal below all others, and Inf * 0 + Inf is NaN."""
    scale = tl.maximum(byte << 23, 0x400000).to(tl.float32, bitcast=True)
    return tl.fma(scale, 0.0, scale)


@triton.jit
def _scaled_dots(
    words, byte, codes, code_bytes, operand_row, exists, table, step, blocks, BLOCKS: tl.constexpr, PTX: tl.constexpr
):
    """fp32 [S, ROWS, BLOCKS]: scaled dot products of the blocks of a step, but for _PRODUCT_SCALE.

    Args:
        words, byte: from `_fetched`.
        codes, code_bytes: pointers to the operand, [.., 2, blocks * 4] and [.., blocks].
        operand_row: int64 [S], rows of the operand.
        exists: [S] whether they are there.
    """
    word = step * (BLOCKS * 4) + tl.arange(0, BLOCKS * 4)
    block = step * BLOCKS + tl.arange(0, BLOCKS)
    inside = exists[:, None] & (word < blocks * 4)[None, :]
    place = (codes + operand_row * (blocks * 8))[:, None] + word[None, :]
    first = tl.load(place, mask=inside, other=0)
    second = tl.load(place + blocks * 4, mask=inside, other=0)
    of_block = (code_bytes + operand_row * blocks)[:, None] + block[None, :]
    code_byte = tl.load(of_block, mask=exists[:, None] & (block < blocks)[None, :], other=127).to(tl.int32)
    dots = dots_of_words(words, first[:, None, :], second[:, None, :], table, PTX)
    dots = tl.sum(tl.reshape(dots, [words.shape[0], words.shape[1], BLOCKS, 4]), axis=3).to(tl.float32)
    # In this order a product overflows or is lost only where the result does.
    return dots * _scale_of(byte.to(tl.int32)) * scale_value(code_byte)[:, None, :]


@triton.jit(do_not_specialize=["count", "global_experts", "experts"])
def slot_first_product(
    codes, code_bytes, topk_ids, topk_weights, local_of_global, local_tokens,
    weights, scales, bias, inner_codes, inner_bytes,
    count, global_experts, experts, columns, features, alpha, beta, limit, linear_beta, amax_floor,
    CHOICES: tl.constexpr, BLOCKS: tl.constexpr, STEPS: tl.constexpr,
    MASKED: tl.constexpr, SKIP_ZERO: tl.constexpr, LIMITED: tl.constexpr,
    ACTIVATION: tl.constexpr, GATED: tl.constexpr, INTERLEAVED: tl.constexpr, LINEAR_BETA: tl.constexpr,
    BIAS: tl.constexpr, WEIGHTED: tl.constexpr, RULE: tl.constexpr, SHORT: tl.constexpr, PTX: tl.constexpr,
):  # fmt: skip
    """A slot's token times w1; bias, activation and second rounding.

    Grid: (slots, blocks of features).

    Args:
        codes, code_bytes: tokens, from `round_slot_tokens`.
        topk_ids, topk_weights, local_of_global, local_tokens, count, global_experts, experts: as for
            `placement.experts_of_slots`.
        weights: int32 [experts, N1, columns / 8], words of e2m1 codes.
        scales: e8m0 bytes [experts, N1, columns / 32].
        bias: [experts, N1].
        inner_codes, inner_bytes: result, not written for slots that are not computed: the activation's output, as
            `codes` and `code_bytes`, by slot.
        BLOCKS, STEPS: blocks of columns that are multiplied at once, and how often.
        PTX: as for `integer_blocks.dots_of_words`.
    """
    slot = tl.program_id(0)
    expert = experts_of_slots(
        slot, count, topk_ids, topk_weights, local_of_global, global_experts, experts, local_tokens, CHOICES,
        MASKED, SKIP_ZERO, LIMITED,
    )  # fmt: skip
    if expert >= 0:
        blocks = columns // 32
        rows: tl.constexpr = 64 if GATED else 32
        in_tile = tl.arange(0, rows)
        feature = tl.program_id(1) * 32 + in_tile % 32
        is_up = in_tile // 32
        if GATED:
            own = 2 * feature + is_up if INTERLEAVED else feature + is_up * features
            matrix_row = expert.to(tl.int64) * features * 2 + own
        else:
            own = feature
            matrix_row = expert.to(tl.int64) * features + own
        every = in_tile[None, :] >= 0
        token = (slot // CHOICES).to(tl.int64)
        words, byte = _fetched(weights, scales, matrix_row[None, :], every, 0, blocks, BLOCKS)
        one = tl.arange(0, 1)
        table = magnitude_table(PTX)
        sums = tl.zeros([1, rows, BLOCKS], tl.float32)
        for step in tl.static_range(STEPS):
            if step + 1 < STEPS:
                next_words, next_byte = _fetched(weights, scales, matrix_row[None, :], every, step + 1, blocks, BLOCKS)
            sums += _scaled_dots(
                words, byte, codes, code_bytes, token + one, one == 0, table, step, blocks, BLOCKS, PTX
            )
            if step + 1 < STEPS:
                words = next_words
                byte = next_byte
        result = tl.reshape(tl.sum(sums, axis=2), [rows]) * _PRODUCT_SCALE
        if WEIGHTED != "no":
            weight = tl.load(topk_weights + slot)
        if WEIGHTED == "before_bias":
            result *= weight
        if BIAS:
            of_expert = bias + expert.to(tl.int64) * (features * (2 if GATED else 1))
            result += tl.load(of_expert + own).to(tl.float32)
        if GATED:
            gate, up = tl.split(tl.permute(tl.reshape(result, [2, 32]), (1, 0)))
        else:
            gate = result
            up = result
        inner = activated(gate, up, alpha, beta, limit, linear_beta, ACTIVATION, GATED, LINEAR_BETA)
        if WEIGHTED == "after_activation":
            inner *= weight
        inner = to_short(inner, SHORT)
        inner_blocks = features // 32
        own_slot = slot.to(tl.int64)
        _store_rounded(
            tl.reshape(inner, [1, 32]), inner_codes + own_slot * (inner_blocks * 8),
            inner_bytes + own_slot * inner_blocks, tl.program_id(1) + one, inner_blocks, amax_floor, RULE,
        )  # fmt: skip


@triton.jit(do_not_specialize=["count", "global_experts", "experts"])
def slot_second_product(
    codes, code_bytes, topk_ids, topk_weights, local_of_global, local_tokens,
    weights, scales, bias, out, count, global_experts, experts, columns, features,
    CHOICES: tl.constexpr, SLOTS: tl.constexpr, ROWS: tl.constexpr, BLOCKS: tl.constexpr, STEPS: tl.constexpr,
    MASKED: tl.constexpr, SKIP_ZERO: tl.constexpr, LIMITED: tl.constexpr, BIAS: tl.constexpr, WEIGHTED: tl.constexpr,
    SLOT: tl.constexpr, SUM: tl.constexpr, PTX: tl.constexpr,
):  # fmt: skip
    """The slots of a token times w2; bias, routing weights, and their sum in the order of the slots.

    Grid: (tokens, tiles of ROWS features).

    Args:
        codes, code_bytes: as `slot_first_product` wrote them.
        weights: int32 [experts, features, columns / 8], words of e2m1 codes.
        scales: e8m0 bytes [experts, features, columns / 32].
        bias: [experts, features].
        out: result, [M, features].
        SLOTS: power of two, at least CHOICES.
        ROWS: features of a program.
        SLOT, SUM: as for `slot_sum.sum_slots`.
    """
    token = tl.program_id(0)
    choice = tl.arange(0, SLOTS)
    slot = tl.where(choice < CHOICES, token * CHOICES + choice, count)
    expert = experts_of_slots(
        slot, count, topk_ids, topk_weights, local_of_global, global_experts, experts, local_tokens, CHOICES,
        MASKED, SKIP_ZERO, LIMITED,
    )  # fmt: skip
    blocks = columns // 32
    computed = expert >= 0
    own_expert = tl.where(computed, expert, 0).to(tl.int64)
    feature = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    inside = feature < features
    matrix_row = own_expert[:, None] * features + feature[None, :]
    exists = computed[:, None] & inside[None, :]
    words, byte = _fetched(weights, scales, matrix_row, exists, 0, blocks, BLOCKS)
    table = magnitude_table(PTX)
    sums = tl.zeros([SLOTS, ROWS, BLOCKS], tl.float32)
    for step in tl.static_range(STEPS):
        if step + 1 < STEPS:
            next_words, next_byte = _fetched(weights, scales, matrix_row, exists, step + 1, blocks, BLOCKS)
        sums += _scaled_dots(
            words, byte, codes, code_bytes, slot.to(tl.int64), computed, table, step, blocks, BLOCKS, PTX
        )
        if step + 1 < STEPS:
            words = next_words
            byte = next_byte
    results = tl.sum(sums, axis=2) * _PRODUCT_SCALE
    if BIAS:
        results += tl.load(bias + matrix_row, mask=exists, other=0.0).to(tl.float32)
    if WEIGHTED:
        results *= tl.load(topk_weights + slot, mask=computed, other=0.0)[:, None]
    results = tl.where(computed[:, None], results, 0.0)
    total = tl.zeros([ROWS], tl.float32)
    for number in tl.static_range(CHOICES):
        value = tl.sum(tl.where((choice == number)[:, None], results, 0.0), axis=0)
        total = to_short(total + to_short(value, SLOT), SUM)
    tl.store(out + token.to(tl.int64) * features + feature, total.to(out.dtype.element_ty), mask=inside)
