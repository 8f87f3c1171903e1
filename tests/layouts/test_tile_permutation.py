"""A layout never touches its input, whatever the strides, and never returns a view of it."""

import torch

from aiter_compat.layouts.tile_permutation import permute_tiles


def test_identity_permutation_is_still_a_copy(dtype, random_bits, assert_same_bits):
    tensor = random_bits((4, 6), dtype)
    result = permute_tiles(tensor, (4, 6), (0, 1))
    assert_same_bits(result, tensor)
    assert result.data_ptr() != tensor.data_ptr()


def test_strided_input_is_read_in_logical_order(dtype, random_bits, assert_same_bits):
    storage = random_bits((6, 4), dtype)
    transposed = storage.view(torch.uint8).clone().view(dtype).t()
    assert_same_bits(
        permute_tiles(transposed, (2, 2, 6), (1, 0, 2)),
        permute_tiles(transposed.contiguous(), (2, 2, 6), (1, 0, 2)),
    )


def test_axes_are_written_in_the_given_order():
    tensor = torch.arange(6).view(2, 3)
    assert permute_tiles(tensor, (2, 3), (1, 0)).tolist() == [[0, 3, 1], [4, 2, 5]]


def test_shapes_are_known_without_data():
    tensor = torch.empty((2, 32, 64), dtype=torch.uint8, device="meta")
    assert permute_tiles(tensor, (2, 2, 16, 64), (1, 0, 2, 3)).shape == (2, 32, 64)
