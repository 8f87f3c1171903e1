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
def count_slots(
    topk_ids,
    topk_weights,
    local_of_global,
    local_tokens,
    expert_of_slot,
    counts,
    count,
    global_experts,
    experts,
    choices,
    every_expert,
    MASKED: tl.constexpr,
    SKIP_ZERO: tl.constexpr,
    LIMITED: tl.constexpr,
    CHUNK: tl.constexpr,
    EXPERTS: tl.constexpr,
    shared_id=0,
    SHARED: tl.constexpr = False,
):
    """How many slots of a chunk each expert has.

    Grid: (chunks of CHUNK slots).

    Args:
        expert_of_slot: int32 [count], result; -1 for slots that are not computed.
        counts: int32 [chunks, every_expert], result.
        every_expert: how many experts there are, a shared one included; EXPERTS is a power of two beyond that.
    """
    slots = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    own = experts_of_slots(
        slots, count, topk_ids, topk_weights, local_of_global, global_experts, experts, local_tokens, choices,
        MASKED, SKIP_ZERO, LIMITED, shared_id, SHARED,
    )  # fmt: skip
    tl.store(expert_of_slot + slots, own, mask=slots < count)
    expert = tl.arange(0, EXPERTS)
    # Slots of nobody are counted where no expert is. Triton's interpreter before 3.6 counts in 64 bits.
    of_expert = tl.histogram(tl.where(own >= 0, own, EXPERTS - 1), EXPERTS).to(tl.int64).to(tl.int32)
    tl.store(counts + tl.program_id(0) * every_expert + expert, of_expert, mask=expert < every_expert)


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
    # Experts down, tiles across: sums over experts stay within a thread.
    before = tl.cumsum(tiles_of_expert, axis=0)[:, None] <= tile[None, :]
    number = tl.sum(before.to(tl.int32), axis=0)
    skipped = tl.sum(tl.where(before, tiles_of_expert[:, None], 0), axis=0)
    is_own = expert[:, None] == number[None, :]
    start = tl.sum(tl.where(before, rows_of_expert[:, None], 0), axis=0)
    own = tl.sum(tl.where(is_own, rows_of_expert[:, None], 0), axis=0)
    inside = tile < tiles
    used = tile < tl.sum(tiles_of_expert, axis=0)
    tl.store(tile_expert + tile, tl.where(used, number, -1), mask=inside)
    tl.store(tile_row + tile, start + (tile - skipped) * TOKENS, mask=inside)
    tl.store(tile_end + tile, start + own, mask=inside)


@triton.jit(do_not_specialize=["chunks", "count", "every_expert", "tiles", "tiles_2"])
def place_rows(
    expert_of_slot,
    counts,
    chunks,
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
    every_expert,
    EXPERTS: tl.constexpr,
    TOKENS: tl.constexpr,
    TOKENS_2: tl.constexpr,
    CHUNK: tl.constexpr,
    PIECE: tl.constexpr,
    CHUNKS_AT_ONCE: tl.constexpr,
):
    """Rows of all slots and both tables of tiles, from what `count_slots` wrote.

    Grid: (the larger of: chunks of CHUNK slots; pieces of TILES_AT_ONCE tiles).

    Args:
        slot_of_row: int32 [count], result.
        row_of_slot: int32 [count], result; -1 for slots that are not computed.
        PIECE: slots that those of a chunk are compared with at a time, divides CHUNK.
        CHUNKS_AT_ONCE: chunks whose counts are added up at a time.
    """
    program = tl.program_id(0)
    expert = tl.arange(0, EXPERTS)
    per_expert = tl.zeros([EXPERTS], tl.int32)
    before = tl.zeros([EXPERTS], tl.int32)
    first_chunk = program * 0
    while first_chunk < chunks:
        chunk = first_chunk + tl.arange(0, CHUNKS_AT_ONCE)
        known = (chunk < chunks)[:, None] & (expert < every_expert)[None, :]
        those = tl.load(counts + chunk[:, None] * every_expert + expert[None, :], mask=known, other=0)
        per_expert += tl.sum(those, axis=0)
        before += tl.sum(tl.where((chunk < program)[:, None], those, 0), axis=0)
        first_chunk += CHUNKS_AT_ONCE
    first_row = tl.cumsum(per_expert, axis=0) - per_expert + before

    index = tl.arange(0, CHUNK)
    slots = program * CHUNK + index
    own = tl.load(expert_of_slot + slots, mask=slots < count, other=-1)
    computed = own >= 0
    row = tl.gather(first_row, tl.where(computed, own, 0), axis=0)
    other_index = program * 0 + tl.arange(0, PIECE)
    for _ in range(CHUNK // PIECE):
        other_slots = program * CHUNK + other_index
        other = tl.load(expert_of_slot + other_slots, mask=other_slots < count, other=-1)
        earlier = (other[:, None] == own[None, :]) & (other_index[:, None] < index[None, :])
        row += tl.sum(earlier.to(tl.int32), axis=0)
        other_index += PIECE
    tl.store(slot_of_row + row, slots, mask=computed)
    tl.store(row_of_slot + slots, tl.where(computed, row, -1), mask=slots < count)

    first_tile = program * _TILES_AT_ONCE
    write_tiles(per_expert, first_tile, tiles, tile_expert, tile_row, tile_end, TOKENS, EXPERTS)
    write_tiles(per_expert, first_tile, tiles_2, tile_expert_2, tile_row_2, tile_end_2, TOKENS_2, EXPERTS)
