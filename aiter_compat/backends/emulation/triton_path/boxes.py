"""Matrices as the copy engine of a Hopper GPU is told of them."""

from __future__ import annotations

import torch
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

PAIRED_ROWS = 16
_UNSWIZZLED_BYTES = 16
_STORED = 32


def boxes(matrix: torch.Tensor, rows: int, columns: int) -> TensorDescriptor:
    """A matrix that is fetched in boxes, which lie in shared memory as the tensor cores read them.

    Args:
        matrix: [.., ..] contiguous, beginning at a multiple of 16 bytes.
        rows: of a box, up to 256.
        columns: of a box: 64 or 128 bytes, or 16, which lie one row after the other.
    """
    return TensorDescriptor.from_tensor(matrix, [rows, columns], _layout(matrix, columns, 2))


def paired_boxes(matrix: torch.Tensor, rows: int, columns: int) -> TensorDescriptor:
    """A matrix that is fetched in boxes whose rows change places: of every 16 the even ones first, then the odd ones.

    A thread has rows g and g + 8 of a product; with weights in this order these are neighbours, which it can store
    together.

    Args:
        matrix: [rows, columns] as for `boxes`, rows a multiple of 16.
        rows: of a box, likewise.
        columns: as for `boxes`.
    """
    count, width = matrix.shape
    shape = [count // PAIRED_ROWS, 2, PAIRED_ROWS // 2, width]
    strides = [PAIRED_ROWS * width, width, 2 * width, 1]
    box = [rows // PAIRED_ROWS, 2, PAIRED_ROWS // 2, columns]
    return TensorDescriptor(matrix, shape, strides, box, _layout(matrix, columns, 4))


def feature_boxes(matrix: torch.Tensor, rows: int, features: int) -> TensorDescriptor:
    """A matrix that is stored in boxes of [features / 32, rows, 32], each row of which is 128 bytes.

    Args:
        matrix: fp32 [rows, features] contiguous, features a multiple of 32, beginning at a multiple of 16 bytes.
        rows: of a box, up to 256.
        features: of a box, likewise a multiple of 32.
    """
    count, width = matrix.shape
    shape, strides = [width // _STORED, count, _STORED], [_STORED, width, 1]
    return TensorDescriptor(matrix, shape, strides, [features // _STORED, rows, _STORED], _layout(matrix, _STORED, 3))


def _layout(matrix: torch.Tensor, columns: int, rank: int) -> NVMMASharedLayout:
    size = matrix.element_size()
    swizzled = columns * size if columns * size > _UNSWIZZLED_BYTES else 0
    return NVMMASharedLayout(swizzle_byte_width=swizzled, element_bitwidth=8 * size, rank=rank)
