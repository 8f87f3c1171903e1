"""What one thread needs while it works on a layer: about a hundred kilobytes, allocated once a call."""

from typing import NamedTuple

import numpy as np

from aiter_compat.backends.emulation.compiled.kernels.compiler import inline
from aiter_compat.backends.emulation.compiled.kernels.memory import out_of_line
from aiter_compat.backends.emulation.compiled.kernels.tile_multiplication import SCRATCH_BYTES, TILE_ROWS
from aiter_compat.backends.emulation.compiled.kernels.tile_products import SUM_BYTES

SLOTS_AT_ONCE = 256
TILES_AT_ONCE = 4
_LINE = 64


class Workspace(NamedTuple):
    """Scratch of one thread."""

    tile: np.ndarray
    """uint8 [SCRATCH_BYTES], at the start of a cache line: a decoded tile and its scales."""
    rows: np.ndarray
    """int64 [SLOTS_AT_ONCE]: addresses of activation rows."""
    sums: np.ndarray
    """fp32 [TILES_AT_ONCE, SLOTS_AT_ONCE, 16], at the start of a cache line."""
    gate: np.ndarray
    """fp32 [32]."""
    up: np.ndarray
    """fp32 [32]."""
    values: np.ndarray
    """fp32 [32]."""
    integers: np.ndarray
    """int32 [32]."""


@inline
def _lines(size):
    memory = np.empty(size + _LINE, np.uint8)
    return memory[-memory.ctypes.data % _LINE :][:size]


@inline
def new_workspace():
    """Allocate."""
    out_of_line()
    return Workspace(
        _lines(SCRATCH_BYTES),
        np.empty(SLOTS_AT_ONCE, np.int64),
        _lines(TILES_AT_ONCE * SLOTS_AT_ONCE * SUM_BYTES)
        .view(np.float32)
        .reshape((TILES_AT_ONCE, SLOTS_AT_ONCE, TILE_ROWS)),
        np.empty(32, np.float32),
        np.empty(32, np.float32),
        np.empty(32, np.float32),
        np.empty(32, np.int32),
    )
