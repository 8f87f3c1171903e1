"""The tiles of e8m0 scales that gfx950 and gfx1250 read, as moves of bytes.

Source of both orders: AITER v0.1.18 to v0.1.20.post1, aiter/ops/triton/utils/shuffle.py; that of gfx1250 also
aiter/ops/shuffle.py `shuffle_scale_n32k4` (v0.1.17 on).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from aiter_compat.layouts.tile_permutation import permute_tiles

_HALVES = 2


def row_by_row(scales: Tensor, rows: int, columns: int) -> Tensor:
    """gfx1250: each tile is written row by row.

    Args:
        scales: [..., N, C]; N a multiple of `rows`, C of `columns`.
        rows: of a tile.
        columns: of a tile.

    Returns:
        A new tensor [..., N / rows, C * rows] of the same dtype, the tiles of a strip one after the other.
    """
    leading, strips, chunks = _counts(scales, rows, columns)
    return _strips(scales, rows, (leading, strips, rows, chunks, columns), (0, 1, 3, 2, 4))


def by_quarters(scales: Tensor, rows: int, columns: int) -> Tensor:
    """gfx950: a tile is four quarters, and the four scales of one place in them lie side by side.

    Of these four, the half of the rows changes fastest, then that of the columns; of the places, the row changes
    faster than the column. With 32 rows by 8 columns these are the bytes of `aiter_compat.layouts.shuffle_scale_e8m0`.

    Args:
        scales: [..., N, C]; N a multiple of `rows`, C of `columns`.
        rows: of a tile, an even number.
        columns: of a tile, an even number.

    Returns:
        A new tensor [..., N / rows, C * rows] of the same dtype, the tiles of a strip one after the other.
    """
    leading, strips, chunks = _counts(scales, rows, columns)
    tiles = (leading, strips, _HALVES, rows // _HALVES, chunks, _HALVES, columns // _HALVES)
    return _strips(scales, rows, tiles, (0, 1, 4, 6, 3, 5, 2))


def _counts(scales: Tensor, rows: int, columns: int) -> tuple[int, int, int]:
    """Matrices, strips of one, tiles of a strip."""
    return scales.shape[:-2].numel(), scales.shape[-2] // rows, scales.shape[-1] // columns


def _strips(scales: Tensor, rows: int, tiles: Sequence[int], order: Sequence[int]) -> Tensor:
    shape = (*scales.shape[:-2], scales.shape[-2] // rows, scales.shape[-1] * rows)
    return permute_tiles(scales, tiles, order).view(shape)
