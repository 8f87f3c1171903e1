"""gpt-oss style checkpoints alternate gate and up rows: weights, scales and bias are reordered alike."""

import pytest
import torch

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import deinterleave_rows, interleave_rows, shuffle_a16w4


def test_rows_alternate_gate_and_up():
    bias = torch.tensor([[10, 11, 12, 20, 21, 22]])
    assert interleave_rows(bias).tolist() == [[10, 20, 11, 21, 12, 22]]
    assert deinterleave_rows(torch.tensor([[10, 20, 11, 21, 12, 22]])).tolist() == bias.tolist()


@pytest.mark.parametrize("trailing", [(), (5,), (2, 3)])
def test_even_rows_are_gate_and_odd_rows_up(trailing, dtype, random_bits, assert_same_bits):
    checkpoint = random_bits((3, 8, *trailing), dtype)
    gate_up = deinterleave_rows(checkpoint)
    bits, expected = gate_up.view(torch.uint8), checkpoint.view(torch.uint8)
    if not trailing:
        bits, expected = (t.view(3, 8, dtype.itemsize) for t in (bits, expected))
    assert torch.equal(bits[:, :4], expected[:, 0::2])
    assert torch.equal(bits[:, 4:], expected[:, 1::2])
    assert_same_bits(interleave_rows(gate_up), checkpoint)
    assert_same_bits(deinterleave_rows(interleave_rows(checkpoint)), checkpoint)


@pytest.mark.parametrize("rows", range(0, 41, 2))
def test_round_trip_for_every_even_size(rows, random_bits, assert_same_bits):
    tensor = random_bits((2, rows, 3))
    assert_same_bits(deinterleave_rows(interleave_rows(tensor)), tensor)


@pytest.mark.parametrize(("dim", "shape"), [(0, (8, 3)), (-2, (2, 8, 3)), (-1, (2, 8))])
def test_dimension_of_the_rows_can_be_named(dim, shape, random_bits, assert_same_bits):
    tensor = random_bits(shape)
    gate, up = tensor.chunk(2, dim=dim)
    axis = dim % len(shape)
    expected = torch.stack([gate, up], dim=axis + 1).flatten(axis, axis + 1)
    assert_same_bits(interleave_rows(tensor, dim=dim), expected)
    assert_same_bits(deinterleave_rows(expected, dim=dim), tensor)


def test_it_is_not_the_interleave_of_gate_mode(random_bits):
    """Two different things are called interleaved: single rows here, tiles of 16 rows in memory there."""
    weight = random_bits((1, 64, 64))
    assert not torch.equal(shuffle_a16w4(weight, True), shuffle_a16w4(interleave_rows(weight), False))


def test_input_is_left_alone(random_bits):
    tensor = random_bits((1, 2, 4))
    before = tensor.clone()
    interleave_rows(tensor).zero_()
    deinterleave_rows(tensor).zero_()
    assert torch.equal(tensor, before)


@pytest.mark.parametrize("reorder", [interleave_rows, deinterleave_rows])
def test_odd_rows_are_refused(reorder):
    with pytest.raises(InvalidArgument, match="tensor: got 7 rows in dimension 1"):
        reorder(torch.zeros(2, 7, 4))


@pytest.mark.parametrize("dim", [2, -3])
def test_missing_dimension_is_refused(dim):
    with pytest.raises(InvalidArgument, match=f"dim: got {dim}"):
        interleave_rows(torch.zeros(2, 8), dim=dim)


def test_other_types_are_refused():
    with pytest.raises(InvalidArgument, match=r"tensor: got NoneType; allowed: a torch\.Tensor"):
        interleave_rows(None)
