"""Every call gets tiles that a Hopper GPU has room for, whatever its sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiter_compat.backends.emulation.triton_path.tile_choice import (
    STEP_COLUMNS,
    most_slots_alone,
    slot_tiles_for,
    tiles_for,
    wide_tiles_for,
)

SHARED_MEMORY = 227 << 10  # of a program; CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
REGISTERS = 65536
sizes = {
    "slots": st.integers(1, 1 << 20),
    "experts": st.integers(1, 512),
    "features": st.integers(1, 512).map(lambda blocks: 32 * blocks),
}


def is_power_of_two(number):
    return number > 0 and number & (number - 1) == 0


def row_bytes(tiles, features):
    stages = -(-features // STEP_COLUMNS) if tiles.resident else tiles.stages
    return stages * tiles.tokens * STEP_COLUMNS


@given(**sizes)
def test_both_products_fit(slots, experts, features):
    first, second = tiles_for(slots, experts, features)
    for tiles in first, second:
        assert all(map(is_power_of_two, (tiles.tokens, tiles.least, tiles.warps)))
        assert tiles.least <= tiles.tokens
        assert tiles.rows == 16 * tiles.warps
        weights = tiles.stages * tiles.rows * (STEP_COLUMNS // 2 + 16)  # two steps' scales with each
        leaving = 4 * tiles.rows * tiles.tokens if tiles.boxed else 0
        assert leaving + weights + row_bytes(tiles, features) + 8 * tiles.tokens <= SHARED_MEMORY - 4096
        assert tiles.registers * 32 * (tiles.warps + 4) <= REGISTERS  # the fetching warp counts as four
    # The first product's results change hands in the memory of its activations.
    assert 4 * first.rows * first.tokens <= row_bytes(first, features)
    assert not first.resident
    # A program that has all activations has all columns.
    assert not (second.resident and second.parts > 1)
    # A box is stored, not added.
    assert not first.boxed
    assert not (second.boxed and second.parts > 1)


@given(**sizes)
def test_tiles_grow_with_the_tokens_of_an_expert(slots, experts, features):
    fewer, more = (tiles_for(count, experts, features)[0].tokens for count in (slots, 2 * slots))
    assert fewer <= more


@given(**sizes)
def test_both_wide_products_fit(slots, experts, features):
    for tiles in wide_tiles_for(slots, experts, features):
        assert tiles.stages * tiles.step * (tiles.rows // 2 + 2 * tiles.tokens) <= SHARED_MEMORY - 4096
        assert tiles.registers * 32 * (tiles.warps + 4) <= REGISTERS


@pytest.mark.parametrize(("features", "resident"), [(256, True), (384, True), (512, True), (544, False), (3072, False)])
def test_activations_stay_where_few_steps_hold_them(features, resident):
    for slots in (4, 512, 4096, 1 << 16):
        assert tiles_for(slots, 128, features)[1].resident is resident


@given(sizes["features"])
def test_tiles_of_few_slots_are_what_triton_can_cut(features):
    tiles = slot_tiles_for(features)
    assert all(map(is_power_of_two, vars(tiles).values()))
    assert max(tiles.warps, tiles.second_warps) * 64 <= 1024  # threads of a program, with AMD's 64 a warp
    assert most_slots_alone(features) >= 8  # a token of any model, at least
