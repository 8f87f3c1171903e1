"""Tiles of random codes against numpy; run by `test_compiled_tiles` here and on a processor without AVX2."""

import sys

import numpy as np
from numba.core.registry import cpu_target

from aiter_compat.backends.emulation.compiled.kernels import tile_multiplication
from aiter_compat.backends.emulation.compiled.kernels.vectors import Emitter

TWICE = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])


def largest_error(columns: int, count: int, integers: bool) -> float:
    """Largest difference from the exact product; scales and values are such that fp32 holds every sum exactly."""
    random = np.random.default_rng(columns + count)
    blocks = columns // 32
    codes = random.integers(0, 256, (16, columns // 2), dtype=np.uint8)
    scales = random.integers(124, 129, (16, blocks), dtype=np.uint8)
    values = np.stack([TWICE[codes & 15], TWICE[codes >> 4]], -1).reshape(16, columns) / 2
    values = values * np.exp2(scales.astype(float) - 127).repeat(32, axis=1)
    x = TWICE[random.integers(0, 16, (count, columns))]
    x_scales = np.exp2(random.integers(-2, 2, (count, blocks))).astype(np.float32)
    exact = (x * x_scales.repeat(32, axis=1) / 2) @ values.T
    if integers:
        turned = x.reshape(count, blocks, 16, 2).transpose(0, 1, 3, 2).reshape(count, columns).astype(np.int8)
        corrections = ((-12 * x.reshape(count, blocks, 32).sum(-1)) & 0xFFFF).astype(np.int32)
        parts = (turned.view(np.uint8), (x_scales / 4).view(np.uint8), corrections.view(np.uint8))
        rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
    else:
        rows = np.ascontiguousarray((x * x_scales.repeat(32, axis=1) / 2).astype(np.float32))
    addresses = np.array([row.ctypes.data for row in rows], dtype=np.int64)
    sums = np.empty((count, 16), np.float32)
    scratch = np.empty(tile_multiplication.SCRATCH_BYTES, np.uint8)
    tile_multiplication.multiply_tile.ctypes(
        codes.ctypes.data,
        codes[8:].ctypes.data,
        columns // 2,
        scales.ctypes.data,
        scales[8:].ctypes.data,
        blocks,
        columns,
        0 if integers else 2,
        addresses.ctypes.data,
        count,
        sums.ctypes.data,
        scratch.ctypes.data,
    )
    return float(np.abs(sums - exact).max())


def uses_avx2() -> bool:
    """Whether code is emitted for AVX2 here."""
    return Emitter(cpu_target.target_context, None).avx2


if __name__ == "__main__":
    worst = max(
        largest_error(columns, count, integers)
        for columns in (32, 96, 256, 1024, 1056)
        for count in (1, 2, 3, 4, 5, 7)
        for integers in (True, False)
    )
    print("avx2" if uses_avx2() else "portable", worst)
    sys.exit(worst != 0)
