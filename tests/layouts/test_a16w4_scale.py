"""`shuffle_scale_a16w4` is AITER's function of that name; `unshuffle_scale_a16w4` undoes it exactly."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import PAD_SCALE_BYTE, shuffle_scale_a16w4, unshuffle_scale_a16w4


def destination(rows, columns, gate_up):
    """The flat index that a scale moves to, as a formula instead of a permutation."""

    def flat(n, k):
        if gate_up:
            pack, feature = divmod(n, rows // 2)
            tile = feature // 16
        else:
            tile, pack = n // 32, (n % 32) // 16
        return tile * (columns // 8) * 256 + (k // 8) * 256 + (k % 4) * 64 + (n % 16) * 4 + ((k % 8) // 4) * 2 + pack

    return flat


@settings(max_examples=15, deadline=None)
@given(
    experts=st.integers(1, 3),
    row_tiles=st.integers(1, 3),
    column_tiles=st.integers(1, 3),
    gate_up=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_permutation_is_the_index_formula(
    random_bits, assert_same_bits, moved, experts, row_tiles, column_tiles, gate_up, seed
):
    rows, columns = row_tiles * 32, column_tiles * 8
    scale = random_bits((experts, rows, columns), seed=seed)
    flat = destination(rows, columns, gate_up)
    expected = torch.stack([moved(expert, flat) for expert in scale])
    assert_same_bits(shuffle_scale_a16w4(scale, experts, gate_up), expected)
    flattened = scale.view(experts * rows, columns)
    assert_same_bits(shuffle_scale_a16w4(flattened, experts, gate_up), expected.view(experts * rows, columns))


@pytest.mark.parametrize("gate_up", [False, True])
def test_round_trip_in_every_dtype(scale_dtype, gate_up, random_bits, assert_same_bits):
    scale = random_bits((3, 96, 16), scale_dtype)
    shuffled = shuffle_scale_a16w4(scale, None, gate_up)
    assert not torch.equal(shuffled.view(torch.uint8), scale.view(torch.uint8))
    assert_same_bits(unshuffle_scale_a16w4(shuffled, None, gate_up), scale)
    assert_same_bits(shuffle_scale_a16w4(unshuffle_scale_a16w4(scale, 3, gate_up), 3, gate_up), scale)


@pytest.mark.parametrize("gate_up", [False, True])
def test_round_trip_for_every_small_size_with_padding(gate_up, scale_dtype, random_bits, assert_same_bits):
    for rows in range(32, 129, 32):
        for columns in range(1, 26):
            scale = random_bits((2 * rows, columns), scale_dtype, seed=rows + columns)
            shuffled = shuffle_scale_a16w4(scale, 2, gate_up, pad_columns=True)
            assert shuffled.shape == (2 * rows, -(-columns // 8) * 8)
            assert_same_bits(unshuffle_scale_a16w4(shuffled, 2, gate_up, columns=columns), scale)
            everything = unshuffle_scale_a16w4(shuffled, 2, gate_up).view(torch.uint8)
            assert (everything[:, columns:] == PAD_SCALE_BYTE).all()


def test_a_pad_is_the_scale_one():
    assert torch.tensor([PAD_SCALE_BYTE], dtype=torch.uint8).view(torch.float8_e8m0fnu).float().item() == 1.0


def test_padding_is_off_unless_asked_for():
    """An old AITER raises here too; padded scales would have another shape than its kernels expect."""
    with pytest.raises(InvalidArgument, match=r"12 columns as stored.*multiple of 8.*pad_columns=True"):
        shuffle_scale_a16w4(torch.zeros((64, 12), dtype=torch.uint8), 1, True)


def test_padding_changes_nothing_where_none_is_needed(random_bits, assert_same_bits):
    scale = random_bits((64, 16))
    assert_same_bits(shuffle_scale_a16w4(scale, 2, True, pad_columns=True), shuffle_scale_a16w4(scale, 2, True))


@pytest.mark.parametrize("pad_columns", [False, True])
def test_input_is_left_alone(pad_columns, random_bits):
    scale = random_bits((64, 8))
    before = scale.clone()
    shuffle_scale_a16w4(scale, 1, False, pad_columns=pad_columns).zero_()
    assert torch.equal(scale, before)


@pytest.mark.parametrize("gate_up", [False, True])
@pytest.mark.parametrize("rows", [16, 48, 40])
def test_rows_are_whole_tiles(gate_up, rows):
    for layout in (shuffle_scale_a16w4, unshuffle_scale_a16w4):
        with pytest.raises(InvalidArgument, match=r"rows per expert .* a multiple of 32"):
            layout(torch.zeros((2, rows, 8), dtype=torch.uint8), 2, gate_up)


@pytest.mark.parametrize("experts", [None, 0, -1, 3])
def test_experts_must_divide_flattened_rows(experts):
    """Rows of two experts read as one would pair the gate rows of one with rows of the other."""
    with pytest.raises(InvalidArgument, match=r"experts: got .* a divisor of the 128 rows"):
        shuffle_scale_a16w4(torch.zeros((128, 8), dtype=torch.uint8), experts, True)


def test_experts_must_match_three_dimensions():
    with pytest.raises(InvalidArgument, match="experts: got 4; allowed: 2"):
        shuffle_scale_a16w4(torch.zeros((2, 64, 8), dtype=torch.uint8), 4, True)


@pytest.mark.parametrize("columns", [8, 17, -1, 0])
def test_columns_must_have_been_padded_to_the_size_at_hand(columns):
    with pytest.raises(InvalidArgument, match=r"columns: got .* rounds up to the 16 columns"):
        unshuffle_scale_a16w4(torch.zeros((32, 16), dtype=torch.uint8), 1, False, columns=columns)


def test_negative_columns_are_refused_even_where_none_are_stored():
    with pytest.raises(InvalidArgument, match="columns: got -1"):
        unshuffle_scale_a16w4(torch.zeros((32, 0), dtype=torch.uint8), 1, False, columns=-1)


@pytest.mark.parametrize("pad_columns", [False, True])
def test_fp32_scales_have_no_such_layout(pad_columns):
    with pytest.raises(InvalidArgument, match=r"scale: got torch\.float32"):
        shuffle_scale_a16w4(torch.zeros((32, 8)), 1, False, pad_columns=pad_columns)
