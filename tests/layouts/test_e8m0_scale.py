"""`shuffle_scale_e8m0` is AITER's e8m0_shuffle with defined pads; `unshuffle_scale_e8m0` undoes it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import (
    PAD_SCALE_BYTE,
    shuffle_scale_a16w4,
    shuffle_scale_e8m0,
    unshuffle_scale_e8m0,
)


def destination(m, n, stored_columns):
    """The flat index that a scale moves to, as a formula instead of a permutation."""
    return (
        (m // 32) * stored_columns * 32
        + (n // 8) * 256
        + (n % 4) * 64
        + (m % 16) * 4
        + ((n % 8) // 4) * 2
        + (m % 32) // 16
    )


def round_up(size, multiple):
    return -(-size // multiple) * multiple


@settings(max_examples=15, deadline=None)
@given(rows=st.integers(1, 300), columns=st.integers(1, 20), seed=st.integers(0, 2**16))
def test_permutation_is_the_index_formula_and_pads_are_one(random_bits, assert_same_bits, rows, columns, seed):
    scale = random_bits((rows, columns), seed=seed)
    stored_rows, stored_columns = round_up(rows, 256), round_up(columns, 8)
    cells = [PAD_SCALE_BYTE] * (stored_rows * stored_columns)
    for m, row in enumerate(scale.tolist()):
        for n, value in enumerate(row):
            cells[destination(m, n, stored_columns)] = value
    expected = torch.tensor(cells, dtype=torch.uint8).view(stored_rows, stored_columns)
    assert_same_bits(shuffle_scale_e8m0(scale), expected)


def test_round_trip_for_small_sizes_and_around_each_multiple(scale_dtype, random_bits, assert_same_bits):
    for rows in (0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 512):
        for columns in range(18):
            scale = random_bits((rows, columns), scale_dtype, seed=rows + columns)
            shuffled = shuffle_scale_e8m0(scale)
            assert shuffled.shape == (round_up(rows, 256), round_up(columns, 8))
            assert_same_bits(unshuffle_scale_e8m0(shuffled, rows, columns), scale)


def test_experts_are_flattened_before_padding(random_bits, assert_same_bits):
    scale = random_bits((3, 64, 5))
    shuffled = shuffle_scale_e8m0(scale)
    assert_same_bits(shuffled, shuffle_scale_e8m0(scale.view(192, 5)))
    assert shuffled.shape == (256, 8)


def test_a_host_may_view_the_result_per_expert(random_bits, assert_same_bits):
    scale = random_bits((2, 128, 8))
    viewed = shuffle_scale_e8m0(scale).view(2, 128, 8)
    assert_same_bits(unshuffle_scale_e8m0(viewed, 256, 8).view(2, 128, 8), scale)


def test_pads_of_any_value_are_cut_off(random_bits, assert_same_bits):
    """AITER leaves them uninitialised: whatever they hold must not come back."""
    scale = random_bits((70, 5))
    live = shuffle_scale_e8m0(torch.zeros_like(scale)) == 0
    shuffled = shuffle_scale_e8m0(scale)
    garbage = torch.where(live, shuffled, torch.full_like(shuffled, 0xFF))
    assert not torch.equal(garbage, shuffled)
    assert_same_bits(unshuffle_scale_e8m0(garbage, 70, 5), scale)


def test_whole_tiles_are_the_plain_a16w4_scale_layout(random_bits, assert_same_bits):
    """w2 scales prepared for either kernel family are the same memory; only those of w1 differ."""
    scale = random_bits((256, 16))
    assert_same_bits(shuffle_scale_e8m0(scale), shuffle_scale_a16w4(scale, 4, False))


@pytest.mark.parametrize("shape", [(256, 8), (40, 5)])
def test_input_is_left_alone(shape, random_bits):
    scale = random_bits(shape)
    before = scale.clone()
    shuffle_scale_e8m0(scale).zero_()
    assert torch.equal(scale, before)


@pytest.mark.parametrize(("rows", "cols"), [(257, 8), (256, 9), (512, 16), (0, 8)])
def test_sizes_must_round_up_to_the_elements_at_hand(rows, cols):
    with pytest.raises(InvalidArgument, match=rf"scale: got 2048 elements.*{rows} rows and {cols} cols"):
        unshuffle_scale_e8m0(torch.zeros((256, 8), dtype=torch.uint8), rows, cols)


@pytest.mark.parametrize(("argument", "rows", "cols"), [("rows", -1, 8), ("cols", 256, -8)])
def test_negative_sizes_are_refused(argument, rows, cols):
    with pytest.raises(InvalidArgument, match=f"{argument}: got -"):
        unshuffle_scale_e8m0(torch.zeros((256, 8), dtype=torch.uint8), rows, cols)


def test_fp32_scales_are_refused_not_passed_through():
    with pytest.raises(InvalidArgument, match=r"scale: got torch\.float32.*as they are"):
        shuffle_scale_e8m0(torch.zeros((32, 8)))
