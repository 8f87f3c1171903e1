"""The one operation behind every layout: read a tensor as tiles, write the tiles in another order."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def bit_view(tensor: Tensor) -> Tensor:
    """The same memory as uint8 where an element is one byte, else the tensor itself.

    torch lacks most operators for float4_e2m1fn_x2 (packed pairs) and float8_e8m0fnu, and a layout moves
    bytes, never values: NaN payloads and signed zeros must survive.
    """
    return tensor.view(torch.uint8) if tensor.element_size() == 1 else tensor


def permute_tiles(tensor: Tensor, tiles: Sequence[int], order: Sequence[int]) -> Tensor:
    """Read `tensor` in row-major order as an array of shape `tiles` and write its axes in `order`.

    Args:
        tensor: any shape, dtype, device and strides.
        tiles: shape of the same number of elements.
        order: permutation of the axes of `tiles`.

    Returns:
        A new contiguous tensor of the shape and dtype of `tensor`; never a view of it, also where the
        permutation is the identity.
    """
    tiled = bit_view(tensor).reshape(tuple(tiles)).permute(tuple(order))
    return tiled.clone(memory_format=torch.contiguous_format).view(tensor.shape).view(tensor.dtype)
