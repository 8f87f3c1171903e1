"""The e8m0 scale layout that goes with a16w4 weights.

Per expert, with C = K / 32 columns, scale (n, k) moves to

    n1 * (C // 8) * 256 + (k // 8) * 256 + (k % 4) * 64 + nl * 4 + ((k % 8) // 4) * 2 + p

with p = n // (N / 2), n1 = (n % (N / 2)) // 16, nl = n % 16 for w1 (a tile pairs 16 gate rows with the 16 up
rows of the same features), and n1 = n // 32, p = (n % 32) // 16, nl = n % 16 for w2 ("plain").

Source: AITER v0.1.13.post1 to v0.1.20.post1, aiter/ops/shuffle.py, `shuffle_scale_a16w4`.
"""

from __future__ import annotations

from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts.scale_padding import pad_scale
from aiter_compat.layouts.size_rules import (
    LayoutRequirements,
    check_sizes,
    layout_requirements,
    matrix_sizes,
)
from aiter_compat.layouts.tile_permutation import permute_tiles

_ROW_PACK = 2
_LANE_ROWS = 16
_COLUMN_PACK = 2
_LANES = 4
_PADDING_REMEDY = "Columns alone can be padded here (pad_columns=True) for AITER v0.1.18 and newer."


def shuffle_scale_a16w4(scale: Tensor, experts: int | None, gate_up: bool, *, pad_columns: bool = False) -> Tensor:
    """Lay logical e8m0 scales out for AITER's a16w4 kernels.

    Args:
        scale: [E*N, C] or [E, N, C] with C = K/32, uint8 or float8_e8m0fnu, rows [gate; up] where `gate_up`;
            N a multiple of 32. Not changed, and the result shares no memory with it.
        experts: E; None takes it from the shape of three dimensions.
        gate_up: True for the scales of w1, False for those of w2.
        pad_columns: round C up to 8 with `PAD_SCALE_BYTE`, as AITER does since v0.1.18 (and in the tag
            v0.1.17-longctx). False refuses a C that is not a multiple of 8 (K not of 256), as AITER does up
            to v0.1.17.

    Returns:
        A new tensor of the same dtype and rank: [E*N, C] or [E, N, C], C rounded up where padded.

    Raises:
        InvalidArgument: rank, dtype, size or number of experts that does not fit.
    """
    if pad_columns:
        _, rows, columns = matrix_sizes("scale", scale, one_byte=True)
        scale = pad_scale(scale, rows, _requirements(gate_up).padded_size(rows, columns)[1])
    expert_count, row_tiles, column_tiles = _geometry(scale, experts, gate_up)
    column_tile = (column_tiles, _COLUMN_PACK, _LANES)
    if gate_up:
        tiles = (expert_count, _ROW_PACK, row_tiles, _LANE_ROWS, *column_tile)
        return permute_tiles(scale, tiles, (0, 2, 4, 6, 3, 5, 1))
    tiles = (expert_count, row_tiles, _ROW_PACK, _LANE_ROWS, *column_tile)
    return permute_tiles(scale, tiles, (0, 1, 4, 6, 3, 5, 2))


def unshuffle_scale_a16w4(scale: Tensor, experts: int | None, gate_up: bool, *, columns: int | None = None) -> Tensor:
    """Exact inverse of `shuffle_scale_a16w4`.

    Args:
        scale: as returned by `shuffle_scale_a16w4`.
        experts: as there.
        gate_up: as there.
        columns: C before padding, to cut the padded columns off; None keeps all.

    Returns:
        A new tensor of the same dtype and rank.

    Raises:
        InvalidArgument: rank, dtype, size, number of experts or `columns` that does not fit.
    """
    expert_count, row_tiles, column_tiles = _geometry(scale, experts, gate_up)
    tiles = (expert_count, row_tiles, column_tiles, _LANES, _LANE_ROWS, _COLUMN_PACK, _ROW_PACK)
    order = (0, 6, 1, 4, 2, 5, 3) if gate_up else (0, 1, 6, 4, 2, 5, 3)
    logical = permute_tiles(scale, tiles, order)
    if columns is None:
        return logical
    stored = scale.shape[-1]
    if columns < 0 or _requirements(gate_up).padded_size(0, columns)[1] != stored:
        raise InvalidArgument(
            "columns", columns, f"a number of columns that rounds up to the {stored} columns of scale"
        )
    return logical[..., :columns].contiguous()


def _requirements(gate_up: bool) -> LayoutRequirements:
    return layout_requirements("scale_a16w4_gate_up" if gate_up else "scale_a16w4")


def _geometry(scale: Tensor, experts: int | None, gate_up: bool) -> tuple[int, int, int]:
    """(experts, tiles of 32 rows per expert, tiles of 8 columns)."""
    leading, rows, columns = matrix_sizes("scale", scale, one_byte=True)
    if scale.ndim == 2:
        if experts is None or experts < 1 or rows % experts:
            raise InvalidArgument(
                "experts",
                experts,
                f"a divisor of the {rows} rows of a two-dimensional scale",
                "Pass the number of experts whose rows were flattened, or the scale as [E, N, C].",
            )
        leading, rows = experts, rows // experts
    elif experts is not None and experts != leading:
        raise InvalidArgument("experts", experts, f"{leading}, the first dimension of scale, or None")
    requirements = _requirements(gate_up)
    check_sizes("scale", scale, requirements, rows, columns, remedy=_PADDING_REMEDY)
    return leading, rows // requirements.row_multiple, columns // requirements.column_multiple
