"""`shuffle_16x16` is AITER's shuffle_weight(x, (16, 16)); `unshuffle_16x16` undoes it exactly."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import shuffle_16x16, unshuffle_16x16


def destination(columns, chunk):
    """The flat index that an element moves to, as a formula instead of a permutation."""

    def flat(n, k):
        return (
            (n // 16) * 16 * columns + (k // 32) * 512 + ((k % 32) // chunk) * 16 * chunk + (n % 16) * chunk + k % chunk
        )

    return flat


@settings(max_examples=15, deadline=None)
@given(
    experts=st.integers(1, 3),
    row_tiles=st.integers(1, 3),
    column_tiles=st.integers(1, 3),
    element=st.sampled_from([(torch.uint8, 16), (torch.int16, 8), (torch.int32, 4), (torch.int64, 2)]),
    use_int4=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_permutation_is_the_index_formula(
    random_bits, assert_same_bits, moved, experts, row_tiles, column_tiles, element, use_int4, seed
):
    dtype, chunk = element
    weight = random_bits((experts, row_tiles * 16, column_tiles * 32), dtype, seed)
    flat = destination(column_tiles * 32, 32 if use_int4 else chunk)
    expected = torch.stack([moved(expert, flat) for expert in weight])
    assert_same_bits(shuffle_16x16(weight, use_int4=use_int4), expected)


@pytest.mark.parametrize("use_int4", [False, True])
def test_round_trip_in_every_dtype(dtype, use_int4, random_bits, assert_same_bits):
    weight = random_bits((3, 48, 96), dtype)
    shuffled = shuffle_16x16(weight, use_int4=use_int4)
    assert not torch.equal(shuffled.view(torch.uint8), weight.view(torch.uint8))
    assert_same_bits(unshuffle_16x16(shuffled, use_int4=use_int4), weight)
    assert_same_bits(shuffle_16x16(unshuffle_16x16(weight, use_int4=use_int4), use_int4=use_int4), weight)


def test_round_trip_for_every_legal_small_size(random_bits, assert_same_bits):
    for rows in range(0, 129, 16):
        for columns in range(0, 257, 32):
            weight = random_bits((rows, columns), seed=rows + columns)
            assert_same_bits(unshuffle_16x16(shuffle_16x16(weight)), weight)


def test_every_other_small_size_is_refused():
    for rows in range(1, 65):
        for columns in range(1, 97):
            if rows % 16 or columns % 32:
                for layout in (shuffle_16x16, unshuffle_16x16):
                    with pytest.raises(InvalidArgument, match=r"weight: got .* a multiple of "):
                        layout(torch.zeros((rows, columns), dtype=torch.uint8))


def test_two_dimensions_are_one_expert(dtype, random_bits, assert_same_bits):
    weight = random_bits((2, 32, 64), dtype)
    each = torch.stack([shuffle_16x16(expert) for expert in weight])
    assert_same_bits(shuffle_16x16(weight), each)


def test_a_rank_without_experts_gets_an_empty_tensor():
    assert shuffle_16x16(torch.empty((0, 32, 64), dtype=torch.uint8)).shape == (0, 32, 64)


def test_input_is_left_alone_and_untagged(random_bits):
    weight = random_bits((32, 64))
    before = weight.clone()
    shuffled = shuffle_16x16(weight)
    shuffled.zero_()
    assert torch.equal(weight, before)
    assert not hasattr(shuffled, "is_shuffled")
    assert not hasattr(weight, "is_shuffled")


def test_a_stale_is_shuffled_attribute_changes_nothing(random_bits, assert_same_bits):
    weight = random_bits((32, 64))
    expected = shuffle_16x16(weight)
    weight.is_shuffled = True
    assert_same_bits(shuffle_16x16(weight), expected)


def test_error_names_what_to_do():
    with pytest.raises(InvalidArgument) as caught:
        shuffle_16x16(torch.zeros((2, 40, 64), dtype=torch.uint8))
    error = caught.value
    assert error.argument == "weight"
    assert error.given == "40 rows per expert (shape (2, 40, 64))"
    assert error.allowed == "a multiple of 16 for layout 'shuffle_16x16'"
    assert error.remedy == "Pad to 48 rows per expert, or keep the logical layout."


@pytest.mark.parametrize("weight", [None, torch.zeros(16), torch.zeros(1, 1, 16, 32)])
def test_other_ranks_and_types_are_refused(weight):
    with pytest.raises(InvalidArgument, match=r"weight: got .* allowed: (a torch|two or three)"):
        shuffle_16x16(weight)
