"""Matrices as the copy engine of a Hopper GPU is told of them."""

from __future__ import annotations

import torch
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


def boxes(matrix: torch.Tensor, rows: int, columns: int) -> TensorDescriptor:
    """A matrix that is fetched in boxes, which lie in shared memory as the tensor cores read them.

    Args:
        matrix: [.., ..] contiguous, beginning at a multiple of 16 bytes.
        rows: of a box, up to 256.
        columns: of a box, 64 or 128 bytes.
    """
    size = matrix.element_size()
    layout = NVMMASharedLayout(swizzle_byte_width=columns * size, element_bitwidth=8 * size, rank=2)
    return TensorDescriptor.from_tensor(matrix, [rows, columns], layout)
