"""The first rounding: tokens to MXFP4 once each, written to the rows of their slots; the placement goes with it."""

from __future__ import annotations

import triton
import triton.language as tl

from aiter_compat.backends.emulation.triton_path.kernels.block_scales import (
    base_byte,
    e5m2_words,
    fold,
    inverse_scale,
    magnitude_bits,
    rounded_to_grid,
    scale_byte,
    scale_value,
    shifted,
)
from aiter_compat.backends.emulation.triton_path.kernels.placement import TILES_AT_ONCE, experts_of_slots, write_tiles

_TILES_AT_ONCE = tl.constexpr(TILES_AT_ONCE)


@triton.jit
def _words(elements, BLOCKS: tl.constexpr):
    """int32 [BLOCKS, 4] words of the codes of [BLOCKS, 4, 4] elements."""
    first_and_third, second_and_fourth = tl.split(tl.reshape(elements, [BLOCKS, 4, 2, 2]))
    first, third = tl.split(first_and_third)
    second, fourth = tl.split(second_and_fourth)
    return e5m2_words(first, second, third, fourth)


@triton.jit(do_not_specialize=["scale_stride", "tiles", "tiles_2", "tokens", "count", "global_experts", "experts"])
def round_tokens(
    hidden,
    hidden_stride,
    topk_ids,
    topk_weights,
    local_of_global,
    local_tokens,
    codes,
    code_scales,
    scale_stride,
    bases,
    apart_rows,
    inner_apart,
    slot_of_row,
    row_of_slot,
    tile_expert,
    tile_row,
    tile_end,
    tiles,
    tile_expert_2,
    tile_row_2,
    tile_end_2,
    tiles_2,
    tokens,
    count,
    global_experts,
    experts,
    columns,
    amax_floor,
    CHOICES: tl.constexpr,
    BLOCKS: tl.constexpr,
    SLOTS: tl.constexpr,
    EXPERTS: tl.constexpr,
    TOKENS: tl.constexpr,
    TOKENS_2: tl.constexpr,
    PLACED: tl.constexpr,
    MASKED: tl.constexpr,
    SKIP_ZERO: tl.constexpr,
    LIMITED: tl.constexpr,
    RULE: tl.constexpr,
):
    """Round a token's columns and write them to the rows of its slots.

    Grid: (tokens and then, unless PLACED, as many programs as `write_tiles` needs,).

    Args:
        hidden: [M, columns] bf16, fp16 or fp32.
        codes: result, int32 [rows, columns / 4]: words of e5m2 codes with their scales folded in, even columns of a
            block before odd ones.
        code_scales: result: fp32 [columns / 32, scale_stride], the scales that remain, written for the rows
            of `apart_rows`; those of the others are their base.
        bases: result: int32 [rows], e8m0 byte that the folded scales count from.
        apart_rows: result: uint8 [rows], 1 where a block keeps its own scale.
        inner_apart: uint8 [rows], set to 0 for the second rounding.
        slot_of_row: int32 [rows], result.
        row_of_slot: int32 [slots], result.
        BLOCKS, SLOTS, EXPERTS: powers of two, at least columns / 32, slots and experts.
        TOKENS, TOKENS_2: rows of the tiles of the first and of the second product.
        PLACED: `place_rows` has written rows and tiles already. Else every program counts for itself, which is faster
            up to some thousand slots, and needs no launch.
    """
    token = tl.program_id(0)
    writes_tiles = token >= tokens
    token = tl.minimum(token, tokens - 1)
    block = tl.arange(0, BLOCKS)
    offset = block[:, None] * 32 + tl.arange(0, 32)[None, :]
    inside = offset < columns
    values = tl.load(hidden + token.to(tl.int64) * hidden_stride + offset, mask=inside, other=0.0).to(tl.float32)
    if not PLACED:
        every = tl.arange(0, SLOTS)
        own_of_every = experts_of_slots(
            every, count, topk_ids, topk_weights, local_of_global, global_experts, experts, local_tokens, CHOICES,
            MASKED, SKIP_ZERO, LIMITED,
        )  # fmt: skip
    if writes_tiles:
        if not PLACED:
            per_expert = tl.histogram(tl.where(own_of_every >= 0, own_of_every, 0), EXPERTS, mask=own_of_every >= 0)
            first_tile = (tl.program_id(0) - tokens) * _TILES_AT_ONCE
            write_tiles(per_expert, first_tile, tiles, tile_expert, tile_row, tile_end, TOKENS, EXPERTS)
            write_tiles(per_expert, first_tile, tiles_2, tile_expert_2, tile_row_2, tile_end_2, TOKENS_2, EXPERTS)
    else:
        largest = tl.max(magnitude_bits(values), axis=1)
        byte = scale_byte(largest, amax_floor, RULE, 1, 6.0, 2)
        grid = rounded_to_grid(values * inverse_scale(byte)[:, None], 1, 6.0, 0)
        base = base_byte(tl.max(tl.where((byte == 255) | (largest == 0), 0, byte), axis=0))
        shift, remaining, apart = fold(tl.where(largest == 0, base, byte), base)
        is_apart = tl.max(apart.to(tl.int32), axis=0)
        even, odd = tl.split(tl.reshape(shifted(grid, shift[:, None]), [BLOCKS, 4, 4, 2]))
        # The even columns of a block before the odd ones, which is the order that packed weights give. Together, so
        # that memory is written in whole sectors of 32 bytes: in halves it takes half as long again.
        words = tl.permute(tl.join(_words(even, BLOCKS), _words(odd, BLOCKS)), (0, 2, 1))
        words = tl.reshape(words, [BLOCKS, 8])
        word = block[:, None] * 8 + tl.arange(0, 8)[None, :]
        row_words = columns // 4

        if PLACED:
            next_row = tl.load(row_of_slot + token * CHOICES)
        for choice in tl.static_range(CHOICES):
            slot = token * CHOICES + choice
            if PLACED:
                row = next_row
                if choice + 1 < CHOICES:  # asked for before the stores that would make it wait
                    next_row = tl.load(row_of_slot + slot + 1)
            else:
                own = tl.sum(tl.where(every == slot, own_of_every, 0), axis=0)
                earlier = (own_of_every < own) | ((own_of_every == own) & (every < slot))
                row = tl.sum((earlier & (own_of_every >= 0)).to(tl.int32), axis=0)
                row = tl.where(own >= 0, row, -1)
            if row >= 0:
                target = row.to(tl.int64)
                tl.store(codes + target * row_words + word, words, mask=word < row_words)
                # Only tiles with such rows read scales, and only those of such rows.
                if is_apart != 0:
                    of_block = code_scales + block.to(tl.int64) * scale_stride + target
                    tl.store(of_block, scale_value(remaining), mask=block * 32 < columns)
                tl.store(bases + row, base)
                tl.store(apart_rows + row, is_apart.to(tl.uint8))
                tl.store(inner_apart + row, tl.full([], 0, tl.uint8))
                if not PLACED:
                    tl.store(slot_of_row + row, slot)
            if not PLACED:
                tl.store(row_of_slot + slot, row)
