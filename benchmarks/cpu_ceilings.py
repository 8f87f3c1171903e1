"""What the machine gives at the moment of the measurement: reading memory, and the innermost product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

_READ_BYTES = 256 << 20
_TILE_ROWS = 16
_COLUMNS = 1024
_SLOTS = 256
PRODUCTS = _TILE_ROWS * _COLUMNS * _SLOTS
"""Multiplications of one `integer_products` call."""
READ_BYTES = _READ_BYTES


def read_memory() -> Callable[[], object]:
    """Read 256 MiB, far more than any cache holds."""
    memory = torch.ones(_READ_BYTES // 8, dtype=torch.int64)
    return memory.sum


def integer_products() -> Callable[[], object]:
    """Multiply one decoded tile, which stays in the first-level cache, by 256 rows: the compiled path's own bound."""
    from aiter_compat.backends.emulation.compiled.kernels.tile_multiplication import SCRATCH_BYTES, multiply_tile

    random = np.random.default_rng(0)
    codes = random.integers(0, 256, (_TILE_ROWS, _COLUMNS // 2), dtype=np.uint8)
    scales = np.full((_TILE_ROWS, _COLUMNS // 32), 127, np.uint8)
    rows = random.integers(0, 2, (_SLOTS, _COLUMNS + _COLUMNS // 4), dtype=np.uint8)
    addresses = np.array([row.ctypes.data for row in rows], np.int64)
    sums, scratch = np.empty((_SLOTS, _TILE_ROWS), np.float32), np.empty(SCRATCH_BYTES, np.uint8)

    arguments = (
        codes.ctypes.data,
        codes[8:].ctypes.data,
        _COLUMNS // 2,
        scales.ctypes.data,
        scales[8:].ctypes.data,
        _COLUMNS // 32,
        _COLUMNS,
        0,
        addresses.ctypes.data,
        _SLOTS,
        sums.ctypes.data,
        scratch.ctypes.data,
    )
    kept_alive = (codes, scales, rows, addresses, sums, scratch)

    def call() -> object:
        multiply_tile.ctypes(*arguments)
        return kept_alive

    return call
