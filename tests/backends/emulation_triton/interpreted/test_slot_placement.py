"""Slots go to rows sorted by expert, and tiles cover each expert's rows, whoever counts."""

import pytest
import torch
import triton

from aiter_compat.backends.emulation.triton_path.kernels.placement import number_experts, rank_slots, tile_bound
from aiter_compat.backends.emulation.triton_path.kernels.token_rounding import round_tokens

TOKENS_OF_TILE = (8, 4)


def place(ids, weights, experts, *, ranked, mask=None, counted=None, skip_zero=True):
    """What `round_tokens` writes about places: slot_of_row, row_of_slot, and the two tables of tiles."""
    tokens, choices = ids.shape
    slots = tokens * choices

    def numbers(size):
        return torch.full((size,), -7, dtype=torch.int32)

    local = torch.zeros(1, dtype=torch.int32)
    if mask is not None:
        local = numbers(mask.numel())
        number_experts[(1,)](mask, local, mask.numel(), COUNT=triton.next_power_of_2(mask.numel()))
    limit = torch.tensor([tokens if counted is None else counted], dtype=torch.int32)
    options = {"MASKED": mask is not None, "SKIP_ZERO": skip_zero, "LIMITED": counted is not None}
    of_slot, rank, first, per_expert = numbers(slots), numbers(slots), numbers(experts), numbers(experts)
    known = 0 if mask is None else mask.numel()
    if ranked:
        rank_slots[(experts,)](
            ids, weights, local, limit, of_slot, rank, first, per_expert, slots, known, experts, choices, **options,
            AT_ONCE=16,
        )  # fmt: skip
    bounds = [tile_bound(slots, experts, size) for size in TOKENS_OF_TILE]
    tables = [[numbers(bound) for _ in range(3)] for bound in bounds]
    slot_of_row, row_of_slot = numbers(slots), numbers(slots)
    hidden = torch.randn(tokens, 32)
    round_tokens[(tokens + triton.cdiv(max(bounds), 64),)](
        hidden, hidden.stride(0), ids, weights, local, limit, of_slot, rank, first, per_expert,
        torch.zeros(slots, 32, dtype=torch.uint8), torch.zeros(1, slots), slots, numbers(slots),
        torch.zeros(slots, dtype=torch.uint8), torch.zeros(slots, dtype=torch.uint8), slot_of_row, row_of_slot,
        *tables[0], bounds[0], *tables[1], bounds[1], tokens, slots, known, experts, 32, 0.0,
        CHOICES=choices, CHOICES_2=triton.next_power_of_2(choices), BLOCKS=1,
        SLOTS=1 if ranked else triton.next_power_of_2(slots), EXPERTS=triton.next_power_of_2(experts),
        TOKENS=TOKENS_OF_TILE[0], TOKENS_2=TOKENS_OF_TILE[1], RANKED=ranked, **options,
        RULE="nearest",
    )  # fmt: skip
    return slot_of_row, row_of_slot, tables


def expected(ids, weights, mask, counted, skip_zero=True):
    local = ids.long()
    if mask is not None:
        table = torch.where(mask != 0, mask.cumsum(0) - 1, -1)
        local = torch.where((local >= 0) & (local < mask.numel()), table[local.clamp(0, mask.numel() - 1)], -1)
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


@pytest.mark.parametrize("ranked", [False, True], ids=["every program counts", "ranked first"])
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_rows_and_tiles(options, ranked):
    generator = torch.Generator().manual_seed(5)
    ids = torch.stack([torch.randperm(8, generator=generator)[:3] for _ in range(11)]).int()
    weights = torch.rand(11, 3, generator=generator)
    weights[2, 1] = 0
    mask = options.get("mask")
    experts = 8 if mask is None else int(mask.sum())
    slot_of_row, row_of_slot, tables = place(ids, weights, experts, ranked=ranked, **options)

    local = expected(ids, weights, mask, options.get("counted"), options.get("skip_zero", True))
    order = torch.sort(local, stable=True).indices
    order = order[local[order] >= 0]
    assert torch.equal(slot_of_row[: order.numel()].long(), order)
    rows = torch.full_like(local, -1)
    rows[order] = torch.arange(order.numel())
    assert torch.equal(row_of_slot.long(), rows)
    for size, table in zip(TOKENS_OF_TILE, tables, strict=True):
        tiles, start = [], 0
        for expert in range(experts):
            held = int((local == expert).sum())
            tiles += [(expert, start + row, start + held) for row in range(0, held, size)]
            start += held
        written = list(zip(*(column.tolist() for column in table), strict=True))
        assert written[: len(tiles)] == tiles
        assert all(expert == -1 for expert, _, _ in written[len(tiles) :])
