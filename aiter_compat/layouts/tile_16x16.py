"""The (16, 16) weight layout of AITER's two-stage MoE and pre-shuffled GEMM kernels.

A tile is 16 rows by 32 columns. It is stored as chunks of 16 bytes along a row; within a tile, the chunks of
one column range of all 16 rows come first. With es bytes per element, c = 16 / es elements per chunk and K
columns as stored, element (n, k) of one expert moves to

    (n // 16) * 16 * K + (k // 32) * 512 + ((k % 32) // c) * 16 * c + (n % 16) * c + k % c

Source: AITER v0.1.13.post1 to v0.1.20.post1, aiter/ops/shuffle.py, `shuffle_weight(x, (16, 16))`.
"""

from __future__ import annotations

from torch import Tensor

from aiter_compat.layouts.size_rules import check_sizes, layout_requirements, matrix_sizes
from aiter_compat.layouts.tile_permutation import permute_tiles

_TILE_ROWS = 16
_TILE_COLUMNS = 32
_CHUNK_BYTES = 16
# An int4 kernel reads the whole tile row at once, whatever the element size of the tensor that holds it.
_INT4_CHUNK = 32


def shuffle_16x16(weight: Tensor, *, use_int4: bool = False) -> Tensor:
    """Lay logical weights out in 16x16 tiles.

    Args:
        weight: [N, K] or [E, N, K], K as stored (packed fp4: K/2 bytes), any dtype of 1, 2, 4, 8 or 16 bytes;
            N a multiple of 16, K of 32. Not changed, and the result shares no memory with it.
        use_int4: AITER's keyword of that name: a chunk is 32 elements instead of 16 bytes.

    Returns:
        A new tensor of the same shape and dtype. AITER's `is_shuffled` attribute is not set.

    Raises:
        InvalidArgument: rank or size that the layout is not defined for.
    """
    experts, rows, columns, chunk = _geometry(weight, use_int4)
    return permute_tiles(
        weight,
        (
            experts,
            rows // _TILE_ROWS,
            _TILE_ROWS,
            columns // _TILE_COLUMNS,
            _TILE_COLUMNS // chunk,
            chunk,
        ),
        (0, 1, 3, 4, 2, 5),
    )


def unshuffle_16x16(weight: Tensor, *, use_int4: bool = False) -> Tensor:
    """Exact inverse of `shuffle_16x16`; arguments, result and errors as there."""
    experts, rows, columns, chunk = _geometry(weight, use_int4)
    return permute_tiles(
        weight,
        (
            experts,
            rows // _TILE_ROWS,
            columns // _TILE_COLUMNS,
            _TILE_COLUMNS // chunk,
            _TILE_ROWS,
            chunk,
        ),
        (0, 1, 4, 2, 3, 5),
    )


def _geometry(weight: Tensor, use_int4: bool) -> tuple[int, int, int, int]:
    experts, rows, columns = matrix_sizes("weight", weight)
    check_sizes("weight", weight, layout_requirements("shuffle_16x16"), rows, columns)
    chunk = _INT4_CHUNK if use_int4 else _CHUNK_BYTES // weight.element_size()
    return experts, rows, columns, chunk
