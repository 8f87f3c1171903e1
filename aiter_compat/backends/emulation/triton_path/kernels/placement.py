"""Where each slot's row goes: rows sorted by expert, tiles of rows that belong to one expert. All on the device.

A slot is a (token, choice) pair, numbered token * k + choice. Its row is its place in the order of experts and, within
an expert, of slot numbers; a slot that this rank does not compute has row -1.
"""

from __future__ import annotations

import triton
import triton.language as tl

TILES_AT_ONCE = 64
"""Entries of the table of tiles that one program writes."""
_TILES_AT_ONCE = tl.constexpr(TILES_AT_ONCE)


def tile_bound(slots: int, experts: int, tokens: int) -> int:
    """How many tiles of `tokens` rows they may take."""
    return (slots + min(experts, slots) * (tokens - 1)) // tokens


@triton.jit
def number_experts(mask, local_of_global, count, COUNT: tl.constexpr):
    """Local numbers of the experts that a 0/1 mask marks, -1 for the others. One program."""
    index = tl.arange(0, COUNT)
    here = (tl.load(mask + index, mask=index < count, other=0) != 0).to(tl.int32)
    tl.store(local_of_global + index, tl.where(here != 0, tl.cumsum(here, axis=0) - 1, -1), mask=index < count)


@triton.jit
def experts_of_slots(
    slots,
    count,
    topk_ids,
    topk_weights,
    local_of_global,
    global_experts,
    experts,
    local_tokens,
    choices,
    MASKED: tl.constexpr,
    SKIP_ZERO: tl.constexpr,
    LIMITED: tl.constexpr,
    shared_id=0,
    SHARED: tl.constexpr = False,
):
    """Local experts of slots; -1 for a slot that is not computed.

    Args:
        slots: int32 slot numbers.
        count: how many slots there are.
        topk_ids: [M, k] global ids of any integer type.
        topk_weights: [M, k].
        local_of_global: what `number_experts` wrote, read when MASKED.
        global_experts: its length.
        experts: local experts.
        local_tokens: one integer in memory: tokens that count, read when LIMITED.
        choices: k.
        SKIP_ZERO: whether a slot of weight 0 is left out.
        shared_id: id of the expert whose matrices lie elsewhere, read when SHARED: it is number `experts`.
    """
    exists = slots < count
    if LIMITED:
        exists = exists & (slots // choices < tl.load(local_tokens))
    ids = tl.load(topk_ids + slots, mask=exists, other=-1).to(tl.int64)
    is_shared = exists & (ids == shared_id)
    if MASKED:
        known = (ids >= 0) & (ids < global_experts)
        ids = tl.load(local_of_global + tl.where(known, ids, 0), mask=known, other=-1).to(tl.int64)
    kept = (ids >= 0) & (ids < experts)
    if SHARED:
        ids = tl.where(is_shared, experts, ids)
        kept = kept | is_shared
    if SKIP_ZERO:
        kept = kept & (tl.load(topk_weights + slots, mask=exists, other=0.0) != 0)
    return tl.where(kept, ids, -1).to(tl.int32)


@triton.jit(do_not_specialize=["count", "global_experts", "experts", "shared_id"])
def rank_slots(
    topk_ids,
    topk_weights,
    local_of_global,
    local_tokens,
    expert_of_slot,
    rank_of_slot,
    first_row,
    rows_of_expert,
    count,
    global_experts,
    experts,
    choices,
    MASKED: tl.constexpr,
    SKIP_ZERO: tl.constexpr,
    LIMITED: tl.constexpr,
    AT_ONCE: tl.constexpr,
    shared_id=0,
    SHARED: tl.constexpr = False,
):
    """Place of each slot among those of its expert, and of the experts among each other. One program an expert.

    Args:
        experts: local experts; one more program speaks for the shared one.
        expert_of_slot: int32 [count], result; -1 for slots that are not computed.
        rank_of_slot: int32 [count], result, for the slots that are computed.
        first_row: int32 [experts], result: how many slots belong to the experts before.
        rows_of_expert: int32 [experts], result: how many belong to the expert.
    """
    expert = tl.program_id(0)
    seen = tl.program_id(0) * 0
    before = seen
    start = seen
    while start < count:
        slots = start + tl.arange(0, AT_ONCE)
        own = experts_of_slots(
            slots, count, topk_ids, topk_weights, local_of_global, global_experts, experts, local_tokens, choices,
            MASKED, SKIP_ZERO, LIMITED, shared_id, SHARED,
        )  # fmt: skip
        mine = (own == expert).to(tl.int32)
        tl.store(rank_of_slot + slots, seen + tl.cumsum(mine, axis=0) - 1, mask=mine != 0)
        # The first program speaks for the slots that belong to nobody.
        spoken_for = (own == expert) | ((own < 0) & (slots < count) & (expert == 0))
        tl.store(expert_of_slot + slots, own, mask=spoken_for)
        seen += tl.sum(mine, axis=0)
        before += tl.sum(((own >= 0) & (own < expert)).to(tl.int32), axis=0)
        start += AT_ONCE
    tl.store(first_row + expert, before)
    tl.store(rows_of_expert + expert, seen)


@triton.jit
def write_tiles(
    rows_of_expert, first_tile, tiles, tile_expert, tile_row, tile_end, TOKENS: tl.constexpr, EXPERTS: tl.constexpr
):
    """Entries `first_tile` and following of the table of tiles.

    Args:
        rows_of_expert: int32 [EXPERTS], a value.
        tiles: length of the table; entries beyond the last tile get expert -1.
        tile_expert: int32 [tiles], result.
        tile_row: int32 [tiles], result: first row of the tile.
        tile_end: int32 [tiles], result: end of the rows of its expert.
        TOKENS: rows of a tile.
    """
    tile = first_tile + tl.arange(0, _TILES_AT_ONCE)
    expert = tl.arange(0, EXPERTS)
    tiles_of_expert = (rows_of_expert + TOKENS - 1) // TOKENS
    before = tl.cumsum(tiles_of_expert, axis=0)[None, :] <= tile[:, None]
    number = tl.sum(before.to(tl.int32), axis=1)
    skipped = tl.sum(tl.where(before, tiles_of_expert[None, :], 0), axis=1)
    is_own = expert[None, :] == number[:, None]
    start = tl.sum(tl.where(before, rows_of_expert[None, :], 0), axis=1)
    own = tl.sum(tl.where(is_own, rows_of_expert[None, :], 0), axis=1)
    inside = tile < tiles
    used = tile < tl.sum(tiles_of_expert, axis=0)
    tl.store(tile_expert + tile, tl.where(used, number, -1), mask=inside)
    tl.store(tile_row + tile, start + (tile - skipped) * TOKENS, mask=inside)
    tl.store(tile_end + tile, start + own, mask=inside)


@triton.jit(do_not_specialize=["count", "experts", "tiles", "tiles_2"])
def place_rows(
    expert_of_slot,
    rank_of_slot,
    first_row,
    rows_of_expert,
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
    count,
    experts,
    EXPERTS: tl.constexpr,
    TOKENS: tl.constexpr,
    TOKENS_2: tl.constexpr,
    AT_ONCE: tl.constexpr,
):
    """Rows of all slots and both tables of tiles, from what `rank_slots` wrote.

    Grid: (the larger of: pieces of AT_ONCE slots; pieces of TILES_AT_ONCE tiles).

    Args:
        slot_of_row: int32 [count], result.
        row_of_slot: int32 [count], result; -1 for slots that are not computed.
        experts: how many there are, a shared one included.
        EXPERTS: power of two, at least `experts`.
    """
    slots = tl.program_id(0) * AT_ONCE + tl.arange(0, AT_ONCE)
    expert = tl.load(expert_of_slot + slots, mask=slots < count, other=-1)
    computed = expert >= 0
    row = tl.load(rank_of_slot + slots, mask=computed, other=0)
    row += tl.load(first_row + expert, mask=computed, other=0)
    tl.store(slot_of_row + row, slots, mask=computed)
    tl.store(row_of_slot + slots, tl.where(computed, row, -1), mask=slots < count)
    every = tl.arange(0, EXPERTS)
    per_expert = tl.load(rows_of_expert + every, mask=every < experts, other=0)
    first_tile = tl.program_id(0) * _TILES_AT_ONCE
    write_tiles(per_expert, first_tile, tiles, tile_expert, tile_row, tile_end, TOKENS, EXPERTS)
    write_tiles(per_expert, first_tile, tiles_2, tile_expert_2, tile_row_2, tile_end_2, TOKENS_2, EXPERTS)
