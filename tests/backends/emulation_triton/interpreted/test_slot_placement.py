"""Slots go to rows sorted by expert, and tiles cover each expert's rows, whoever counts."""

import pytest
import torch
import triton

from aiter_compat.backends.emulation.triton_path.kernels.placement import (
    TILES_AT_ONCE,
    count_slots,
    number_experts,
    place_rows,
    tile_bound,
)
from aiter_compat.backends.emulation.triton_path.kernels.token_rounding import round_tokens

TOKENS_OF_TILE = (8, 4)
CHUNK = 8


def numbers(size):
    return torch.full((size,), -7, dtype=torch.int32)


def place(ids, weights, experts, *, how, mask=None, counted=None, skip_zero=True, shared_id=None):
    """What the kernels write about places: slot_of_row, row_of_slot, and the two tables of tiles.

    Args:
        how: "counted" by every program of `round_tokens`, or "placed" by kernels of their own.
        shared_id: id of the expert after the last; only "placed" has one.
    """
    tokens, choices = ids.shape
    slots = tokens * choices
    local = torch.zeros(1, dtype=torch.int32)
    if mask is not None:
        local = numbers(mask.numel())
        number_experts[(1,)](mask, local, mask.numel(), COUNT=triton.next_power_of_2(mask.numel()))
    limit = torch.tensor([tokens if counted is None else counted], dtype=torch.int32)
    options = {"MASKED": mask is not None, "SKIP_ZERO": skip_zero, "LIMITED": counted is not None}
    shared = shared_id is not None
    every = experts + shared
    known = 0 if mask is None else mask.numel()
    chunks = triton.cdiv(slots, CHUNK)
    of_slot, counts = numbers(slots), numbers(chunks * every)
    bounds = [tile_bound(slots, every, size) for size in TOKENS_OF_TILE]
    tables = [[numbers(bound) for _ in range(3)] for bound in bounds]
    slot_of_row, row_of_slot = numbers(slots), numbers(slots)
    if how == "placed":
        count_slots[(chunks,)](
            ids, weights, local, limit, of_slot, counts, slots, known, experts, choices, every, **options,
            CHUNK=CHUNK, EXPERTS=triton.next_power_of_2(every + 1),
            shared_id=shared_id if shared else -1, SHARED=shared,
        )  # fmt: skip
        place_rows[(max(chunks, triton.cdiv(max(bounds), TILES_AT_ONCE)),)](
            of_slot, counts, chunks, slot_of_row, row_of_slot, *tables[0], bounds[0], *tables[1], bounds[1],
            slots, every, EXPERTS=triton.next_power_of_2(every), TOKENS=TOKENS_OF_TILE[0], TOKENS_2=TOKENS_OF_TILE[1],
            CHUNK=CHUNK, PIECE=4, CHUNKS_AT_ONCE=2,
        )  # fmt: skip
        return slot_of_row, row_of_slot, tables
    hidden = torch.randn(tokens, 32)
    round_tokens[(tokens + triton.cdiv(max(bounds), TILES_AT_ONCE),)](
        hidden, hidden.stride(0), ids, weights, local, limit,
        torch.zeros(slots, 8, dtype=torch.int32), torch.zeros(1, slots), slots, numbers(slots),
        torch.zeros(slots, dtype=torch.uint8), torch.zeros(slots, dtype=torch.uint8),
        slot_of_row, row_of_slot,
        *tables[0], bounds[0], *tables[1], bounds[1], tokens, slots, known, experts, 32, 0.0,
        CHOICES=choices, BLOCKS=1, SLOTS=triton.next_power_of_2(slots), EXPERTS=triton.next_power_of_2(experts),
        TOKENS=TOKENS_OF_TILE[0], TOKENS_2=TOKENS_OF_TILE[1], PLACED=False, **options, RULE="nearest",
    )  # fmt: skip
    return slot_of_row, row_of_slot, tables


def expected(ids, weights, experts, *, mask=None, counted=None, skip_zero=True, shared_id=None):
    """Number of the expert of each slot, -1 where nothing is computed."""
    local = ids.long()
    if mask is not None:
        table = torch.where(mask != 0, mask.cumsum(0) - 1, -1)
        local = torch.where((local >= 0) & (local < mask.numel()), table[local.clamp(0, mask.numel() - 1)], -1)
    local = torch.where((local >= 0) & (local < experts), local, -1)
    if shared_id is not None:
        local = torch.where(ids == shared_id, experts, local)
    if skip_zero:
        local = torch.where(weights == 0, -1, local)
    if counted is not None:
        local[counted:] = -1
    return local.reshape(-1)


CASES = {
    "plain": {},
    "with experts elsewhere": {"mask": torch.tensor([1, 0, 1, 1, 0, 0, 1, 1])},
    "fewer tokens": {"counted": 4},
    "no tokens": {"counted": 0},
    "the old rule for zero weights": {"skip_zero": False},
}
SHARED_CASES = {
    "an id after the experts": {"shared_id": 8},
    "the id of a routed expert": {"shared_id": 3},
    "an id that the mask leaves out": {"shared_id": 1, "mask": torch.tensor([1, 0, 1, 1, 0, 0, 1, 1])},
    "the smallest id, in fewer tokens": {"shared_id": -(2**31), "counted": 7},
}


def routing(shared_id=None):
    generator = torch.Generator().manual_seed(5)
    ids = torch.stack([torch.randperm(8, generator=generator)[:3] for _ in range(11)]).int()
    weights = torch.rand(11, 3, generator=generator)
    weights[2, 1] = 0
    ids[5, 0], ids[6, 2] = -1, 10_000  # no experts
    if shared_id is not None:
        ids[:, 1] = shared_id
    return ids, weights


def check_rows_and_tiles(how, options):
    ids, weights = routing(options.get("shared_id"))
    mask = options.get("mask")
    experts = 8 if mask is None else int(mask.sum())
    slot_of_row, row_of_slot, tables = place(ids, weights, experts, how=how, **options)

    local = expected(ids, weights, experts, **options)
    order = torch.sort(local, stable=True).indices
    order = order[local[order] >= 0]
    assert torch.equal(slot_of_row[: order.numel()].long(), order)
    rows = torch.full_like(local, -1)
    rows[order] = torch.arange(order.numel())
    assert torch.equal(row_of_slot.long(), rows)
    for size, table in zip(TOKENS_OF_TILE, tables, strict=True):
        tiles, start = [], 0
        for expert in range(experts + 1):
            held = int((local == expert).sum())
            tiles += [(expert, start + row, start + held) for row in range(0, held, size)]
            start += held
        written = list(zip(*(column.tolist() for column in table), strict=True))
        assert written[: len(tiles)] == tiles
        assert all(expert == -1 for expert, _, _ in written[len(tiles) :])


@pytest.mark.parametrize("how", ["counted", "placed"])
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_rows_and_tiles(options, how):
    check_rows_and_tiles(how, options)


@pytest.mark.parametrize("options", SHARED_CASES.values(), ids=SHARED_CASES)
def test_slots_that_name_the_shared_expert_come_last(options):
    check_rows_and_tiles("placed", options)
