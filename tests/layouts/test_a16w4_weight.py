"""`shuffle_a16w4` is AITER's shuffle_weight_a16w4(src, 16, gate_up); `unshuffle_a16w4` undoes it exactly."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import shuffle_16x16, shuffle_a16w4, unshuffle_a16w4


def destination(rows, columns, gate_up):
    """The flat index that an element moves to, as a formula instead of a permutation."""

    def flat(n, k):
        tile = n // 16
        if gate_up:
            half, feature = divmod(n, rows // 2)
            tile = (feature // 16) * 2 + half
            n = feature
        return ((tile * (columns // 64) + k // 64) * 4 + (k % 64) // 16) * 256 + (n % 16) * 16 + k % 16

    return flat


@settings(max_examples=15, deadline=None)
@given(
    experts=st.integers(1, 3),
    row_tiles=st.integers(1, 3),
    column_tiles=st.integers(1, 2),
    dtype=st.sampled_from([torch.uint8, torch.int16]),
    gate_up=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_permutation_is_the_index_formula(
    random_bits, assert_same_bits, moved, experts, row_tiles, column_tiles, dtype, gate_up, seed
):
    rows, columns = row_tiles * (32 if gate_up else 16), column_tiles * 64
    weight = random_bits((experts, rows, columns), dtype, seed)
    flat = destination(rows, columns, gate_up)
    expected = torch.stack([moved(expert, flat) for expert in weight])
    assert_same_bits(shuffle_a16w4(weight, gate_up), expected)


@pytest.mark.parametrize("gate_up", [False, True])
def test_round_trip_in_every_dtype(dtype, gate_up, random_bits, assert_same_bits):
    weight = random_bits((3, 96, 128), dtype)
    shuffled = shuffle_a16w4(weight, gate_up)
    assert not torch.equal(shuffled.view(torch.uint8), weight.view(torch.uint8))
    assert_same_bits(unshuffle_a16w4(shuffled, gate_up), weight)
    assert_same_bits(shuffle_a16w4(unshuffle_a16w4(weight, gate_up), gate_up), weight)


@pytest.mark.parametrize("gate_up", [False, True])
def test_round_trip_for_every_legal_small_size(gate_up, random_bits, assert_same_bits):
    for rows in range(0, 193, 32 if gate_up else 16):
        for columns in range(0, 257, 64):
            weight = random_bits((rows, columns), seed=rows + columns)
            assert_same_bits(unshuffle_a16w4(shuffle_a16w4(weight, gate_up), gate_up), weight)


@pytest.mark.parametrize(("gate_up", "multiple"), [(False, 16), (True, 32)])
def test_every_other_small_size_is_refused(gate_up, multiple):
    for rows in range(8, 97, 8):
        for columns in range(16, 193, 16):
            if rows % multiple or columns % 64:
                for layout in (shuffle_a16w4, unshuffle_a16w4):
                    with pytest.raises(InvalidArgument, match=r"weight: got .* a multiple of "):
                        layout(torch.zeros((rows, columns), dtype=torch.uint8), gate_up)


def test_physical_rows_alternate_16_gate_and_16_up_rows(random_bits, assert_same_bits):
    """What `GateMode.INTERLEAVE` means: gate and up alternate by tile of 16 rows, not row by row."""
    weight = random_bits((2, 64, 64))
    gate, up = weight.chunk(2, dim=1)
    alternating = torch.cat([gate[:, :16], up[:, :16], gate[:, 16:], up[:, 16:]], dim=1)
    assert_same_bits(shuffle_a16w4(weight, True), shuffle_a16w4(alternating, False))


def test_plain_form_is_the_16x16_layout_for_one_byte_elements(random_bits, assert_same_bits):
    """w2 prepared for either kernel family is the same memory; only w1 differs."""
    weight = random_bits((2, 48, 192))
    assert_same_bits(shuffle_a16w4(weight, False), shuffle_16x16(weight))


def test_input_is_left_alone_and_untagged(random_bits):
    weight = random_bits((32, 64))
    before = weight.clone()
    shuffled = shuffle_a16w4(weight, True)
    shuffled.zero_()
    assert torch.equal(weight, before)
    assert not hasattr(shuffled, "is_shuffled")


def test_a_rank_without_experts_gets_an_empty_tensor():
    assert shuffle_a16w4(torch.empty((0, 32, 64), dtype=torch.uint8), True).shape == (0, 32, 64)


def test_error_says_that_each_half_is_padded():
    with pytest.raises(InvalidArgument) as caught:
        shuffle_a16w4(torch.zeros((2, 48, 64), dtype=torch.uint8), True)
    assert caught.value.allowed == "a multiple of 32 for layout 'a16w4_gate_up'"
    assert caught.value.remedy == (
        "Pad to 64 rows per expert (gate and up each to half of that), or keep the logical layout."
    )
