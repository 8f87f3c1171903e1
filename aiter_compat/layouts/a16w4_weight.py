"""The a16w4 weight layout: what AITER's `GateMode.INTERLEAVE` and weight-only MXFP4 kernels read.

With P stored columns (bytes of packed fp4: P = K / 2) and K0 = P // 64, element (n, k) of one expert moves to

    ((((n' // 16) * 2 + g) * K0 + k // 64) * 4 + (k % 64) // 16) * 256 + (n' % 16) * 16 + k % 16

for w1, where g = n // (N / 2) is 0 for gate and 1 for up, and n' = n % (N / 2): physical rows alternate 16
gate rows with 16 up rows. For w2 ("plain") the factor 2 and g are absent and n' = n. The bias keeps
[gate; up]. This is not the row order of a gpt-oss checkpoint: see `row_interleave`.

Source: AITER v0.1.13.post1 to v0.1.20.post1, aiter/ops/shuffle.py, `shuffle_weight_a16w4(src, 16, gate_up)`.
"""

from __future__ import annotations

from torch import Tensor

from aiter_compat.layouts.size_rules import check_sizes, layout_requirements, matrix_sizes
from aiter_compat.layouts.tile_permutation import permute_tiles

_LANE_ROWS = 16
_LANES = 4
# Elements that one lane reads at once; AITER counts elements here, also where an element is not a byte.
_PACK = 16


def shuffle_a16w4(weight: Tensor, gate_up: bool) -> Tensor:
    """Lay logical weights out for AITER's a16w4 kernels.

    Args:
        weight: [N, P] or [E, N, P], rows [gate; up] where `gate_up`, P as stored (packed fp4: K/2 bytes) and
            a multiple of 64 (K of 128); N a multiple of 16, of 32 where `gate_up`. Not changed, and the
            result shares no memory with it.
        gate_up: True for w1 (gate and up rows), False for w2.

    Returns:
        A new tensor of the same shape and dtype. AITER's `is_shuffled` attribute is not set.

    Raises:
        InvalidArgument: rank or size that the layout is not defined for.
    """
    experts, row_tiles, column_tiles = _geometry(weight, gate_up)
    if gate_up:
        tiles = (experts, 2, row_tiles, _LANE_ROWS, column_tiles, _LANES, _PACK)
        return permute_tiles(weight, tiles, (0, 2, 1, 4, 5, 3, 6))
    return permute_tiles(weight, (experts, row_tiles, _LANE_ROWS, column_tiles, _LANES, _PACK), (0, 1, 3, 4, 2, 5))


def unshuffle_a16w4(weight: Tensor, gate_up: bool) -> Tensor:
    """Exact inverse of `shuffle_a16w4`; arguments, result and errors as there."""
    experts, row_tiles, column_tiles = _geometry(weight, gate_up)
    if gate_up:
        tiles = (experts, row_tiles, 2, column_tiles, _LANES, _LANE_ROWS, _PACK)
        return permute_tiles(weight, tiles, (0, 2, 1, 5, 3, 4, 6))
    return permute_tiles(weight, (experts, row_tiles, column_tiles, _LANES, _LANE_ROWS, _PACK), (0, 1, 4, 2, 3, 5))


def _geometry(weight: Tensor, gate_up: bool) -> tuple[int, int, int]:
    """(experts, tiles of 16 rows per gate or up half, tiles of 64 columns)."""
    experts, rows, columns = matrix_sizes("weight", weight)
    requirements = layout_requirements("a16w4_gate_up" if gate_up else "a16w4")
    check_sizes("weight", weight, requirements, rows, columns)
    row_tiles = rows // requirements.row_multiple
    return experts, row_tiles, columns // requirements.column_multiple
