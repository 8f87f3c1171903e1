"""The e8m0 scale layout of AITER's `e8m0_shuffle`, which goes with 16x16 weights and with activations.

Scales [m, n] are padded to SM rows (multiple of 256) and SN columns (multiple of 8); scale (m, n) moves to

    (m // 32) * SN * 32 + (n // 8) * 256 + (n % 4) * 64 + (m % 16) * 4 + ((n % 8) // 4) * 2 + (m % 32) // 16

Experts are flattened into the rows before padding, so only the end of the last expert is followed by pads.

Source: AITER v0.1.13.post1 aiter/utility/fp4_utils.py `e8m0_shuffle`; v0.1.14 to v0.1.20.post1
aiter/ops/shuffle.py `shuffle_scale`. AITER leaves the pads uninitialised and passes None and fp32 scales
through.
"""

from __future__ import annotations

from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts.scale_padding import pad_scale
from aiter_compat.layouts.size_rules import layout_requirements, matrix_sizes
from aiter_compat.layouts.tile_permutation import permute_tiles

_ROW_PACK = 2
_LANE_ROWS = 16
_COLUMN_PACK = 2
_LANES = 4


def shuffle_scale_e8m0(scale: Tensor) -> Tensor:
    """Lay logical e8m0 scales out as AITER's `e8m0_shuffle` does, pads filled with `PAD_SCALE_BYTE`.

    Args:
        scale: [m, n] or [E, N, n] (m = E*N), uint8 or float8_e8m0fnu, any size. Not changed, and the result
            shares no memory with it.

    Returns:
        A new tensor [SM, SN] of the same dtype: m rounded up to 256, n to 8.

    Raises:
        InvalidArgument: another rank or dtype.
    """
    experts, rows, columns = matrix_sizes("scale", scale, one_byte=True)
    stored_rows, stored_columns = layout_requirements("scale_e8m0").padded_size(experts * rows, columns)
    padded = pad_scale(scale.reshape(experts * rows, columns), stored_rows, stored_columns)
    row_tiles, column_tiles = _tiles(stored_rows, stored_columns)
    tiles = (row_tiles, _ROW_PACK, _LANE_ROWS, column_tiles, _COLUMN_PACK, _LANES)
    return permute_tiles(padded, tiles, (0, 3, 5, 2, 4, 1))


def unshuffle_scale_e8m0(scale: Tensor, rows: int, cols: int) -> Tensor:
    """Exact inverse of `shuffle_scale_e8m0`; pads are cut off and never read into the result.

    Args:
        scale: as returned by `shuffle_scale_e8m0` or AITER, in any shape of two or three dimensions that
            holds the same elements (hosts view it as [E, N, n]).
        rows: m, all experts together, before padding.
        cols: n before padding.

    Returns:
        A new tensor [rows, cols] of the same dtype.

    Raises:
        InvalidArgument: another rank or dtype, or `rows` and `cols` that do not round up to the elements of
            `scale`.
    """
    matrix_sizes("scale", scale, one_byte=True)
    for argument, size in (("rows", rows), ("cols", cols)):
        if size < 0:
            raise InvalidArgument(argument, size, "0 or more")
    stored_rows, stored_columns = layout_requirements("scale_e8m0").padded_size(rows, cols)
    if scale.numel() != stored_rows * stored_columns:
        raise InvalidArgument(
            "scale",
            f"{scale.numel()} elements (shape {tuple(scale.shape)})",
            f"{stored_rows * stored_columns}: {rows} rows and {cols} cols rounded up to {stored_rows} and "
            f"{stored_columns}",
            "Pass the sizes of the logical scales before the shuffle, with rows = experts * rows per expert.",
        )
    row_tiles, column_tiles = _tiles(stored_rows, stored_columns)
    flat = scale.reshape(stored_rows, stored_columns)
    tiles = (row_tiles, column_tiles, _LANES, _LANE_ROWS, _COLUMN_PACK, _ROW_PACK)
    return permute_tiles(flat, tiles, (0, 5, 3, 1, 4, 2))[:rows, :cols].contiguous()


def _tiles(stored_rows: int, stored_columns: int) -> tuple[int, int]:
    return stored_rows // (_ROW_PACK * _LANE_ROWS), stored_columns // (_COLUMN_PACK * _LANES)
