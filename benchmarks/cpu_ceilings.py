"""What the machine gives at the moment of the measurement: reading memory, decoding, and the innermost products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

_READ_BYTES = 256 << 20
_TILE_ROWS = 16
_COLUMNS = 1024
_SLOTS = 96
_ALIGNMENT = 64  # as the kernels allocate it: a load across two cache lines takes twice as long
_ROWS = 6  # distinct ones, so that they stay in the first-level cache
PRODUCTS = _TILE_ROWS * _COLUMNS * _SLOTS
"""Multiplications of one `integer_products` call."""
READ_BYTES = _READ_BYTES
_GEMM_ROWS = 256
FP32_PRODUCTS = _GEMM_ROWS * _COLUMNS * _COLUMNS
"""Multiplications of one `fp32_products` call."""
DECODED_VALUES = 1 << 19
"""Values of one `decode_values` call."""


def read_memory() -> Callable[[], object]:
    """Read 256 MiB, far more than any cache holds."""
    memory = torch.ones(_READ_BYTES // 8, dtype=torch.int64)
    return memory.sum


def integer_products() -> Callable[[], object]:
    """Multiply one tile by 96 rows with everything in the first-level cache: what the instructions alone allow."""
    from aiter_compat.backends.emulation.compiled.kernels.tile_multiplication import SCRATCH_BYTES, multiply_tile

    random = np.random.default_rng(0)
    codes = random.integers(0, 256, (_TILE_ROWS, _COLUMNS // 2), dtype=np.uint8)
    scales = np.full((_TILE_ROWS, _COLUMNS // 32), 127, np.uint8)
    rows = np.zeros((_ROWS, _COLUMNS + _COLUMNS // 4), np.uint8)  # random scales would be subnormal, and slow
    addresses = np.array([rows[slot % _ROWS].ctypes.data for slot in range(_SLOTS)], np.int64)
    sums, memory = np.empty((_SLOTS, _TILE_ROWS), np.float32), np.empty(SCRATCH_BYTES + _ALIGNMENT, np.uint8)
    scratch = memory[-memory.ctypes.data % _ALIGNMENT :]

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
    kept_alive = (codes, scales, rows, addresses, sums, memory)

    def call() -> object:
        multiply_tile.ctypes(*arguments)
        return kept_alive

    return call


def fp32_products() -> Callable[[], object]:
    """Torch's fp32 matrix product of 256 rows, which is enough for it to reach its best rate."""
    x, w = torch.randn(_GEMM_ROWS, _COLUMNS), torch.randn(_COLUMNS, _COLUMNS)
    return lambda: x @ w.t()


def decode_values() -> Callable[[], object]:
    """Packed codes to fp32 by the gather that the torch path uses, into memory that stays in the cache."""
    codes = torch.randint(0, 256, (DECODED_VALUES // 2,), dtype=torch.uint8)
    table = torch.randn(256, dtype=torch.float64)
    positions = torch.empty(codes.shape, dtype=torch.int32)
    values = torch.empty(codes.shape, dtype=torch.float64)
    return lambda: torch.index_select(table, 0, positions.copy_(codes), out=values)
