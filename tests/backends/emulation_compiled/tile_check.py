"""Tiles of random codes against numpy, in a process of its own: `test_compiled_tiles` chooses the processor.

    python tile_check.py [features that are emulated, with commas]

Prints the form of the kernels, the largest error of sums that fp32 holds exactly, and a digest of sums that it rounds.
"""

import hashlib
import sys

import numpy as np

from aiter_compat.backends.emulation.compiled.kernels.vectors import OFFSET

if len(sys.argv) > 1:
    import emulated_instructions

    emulated_instructions.emulate(sys.argv[1].split(","))

from aiter_compat.backends.emulation.compiled.kernels import tile_multiplication

TWICE = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])
INTEGERS, FLOATS = 0, 2


class Tile:
    """A tile and activation rows for it.

    Args:
        columns: K.
        count: activation rows.
        integers: whether those are integers with scales, or fp32.
        exact: whether scales and values are such that fp32 holds every sum exactly.
    """

    def __init__(self, columns: int, count: int, integers: bool, exact: bool) -> None:
        random = np.random.default_rng(columns + count)
        blocks, spread = columns // 32, 2 if exact else 40
        self.columns, self.rounding = columns, INTEGERS if integers else FLOATS
        self.codes = random.integers(0, 256, (16, columns // 2), dtype=np.uint8)
        self.scales = random.integers(127 - spread, 127 + spread, (16, blocks), dtype=np.uint8)
        self.x = TWICE[random.integers(0, 16, (count, columns))]
        self.x_scales = np.exp2(random.integers(-spread, spread, (count, blocks))).astype(np.float32)
        if not integers and not exact:
            self.x = random.standard_normal((count, columns))

    def exact_sums(self) -> np.ndarray:
        """The product in fp64."""
        values = np.stack([TWICE[self.codes & 15], TWICE[self.codes >> 4]], -1).reshape(16, self.columns) / 2
        values = values * np.exp2(self.scales.astype(float) - 127).repeat(32, axis=1)
        return self._x_values() @ values.T

    def _x_values(self) -> np.ndarray:
        return self.x * self.x_scales.repeat(32, axis=1) / 2

    def _rows(self) -> np.ndarray:
        if self.rounding == FLOATS:
            return np.ascontiguousarray(self._x_values().astype(np.float32))
        count, blocks = self.x_scales.shape
        turned = self.x.reshape(count, blocks, 16, 2).transpose(0, 1, 3, 2).reshape(count, self.columns)
        corrections = (-OFFSET * self.x.reshape(count, blocks, 32).sum(-1)).astype(np.int32)
        if not tile_multiplication.INSTRUCTIONS.sums_of_four:
            corrections &= 0xFFFF
        parts = (turned.astype(np.int8), self.x_scales / 4, corrections)
        return np.ascontiguousarray(np.concatenate([part.view(np.uint8) for part in parts], axis=1))

    def sums(self, count: int | None = None) -> np.ndarray:
        """What the kernel computes for the first `count` activation rows, or all: fp32 [count, 16]."""
        rows = self._rows()[:count]
        addresses = np.array([row.ctypes.data for row in rows], dtype=np.int64)
        sums = np.empty((len(rows), 16), np.float32)
        scratch = np.empty(tile_multiplication.SCRATCH_BYTES, np.uint8)
        tile_multiplication.multiply_tile.ctypes(
            self.codes.ctypes.data,
            self.codes[8:].ctypes.data,
            self.columns // 2,
            self.scales.ctypes.data,
            self.scales[8:].ctypes.data,
            self.columns // 32,
            self.columns,
            self.rounding,
            addresses.ctypes.data,
            len(rows),
            sums.ctypes.data,
            scratch.ctypes.data,
        )
        return sums


def main() -> None:
    """Check and print."""
    cases = [
        (columns, count, integers)
        for columns in (32, 96, 256, 1024, 1056)
        for count in (*range(1, 10), 23)
        for integers in (True, False)
    ]
    tiles = (Tile(*case, exact=True) for case in cases)
    worst = max(np.abs(tile.sums() - tile.exact_sums()).max() for tile in tiles)
    digest = hashlib.sha256()
    for case in cases:
        tile = Tile(*case, exact=False)
        sums = tile.sums()
        digest.update(sums.tobytes())
        # Few rows are multiplied by weights in registers, more by a decoded tile.
        if any(not np.array_equal(tile.sums(fewer), sums[:fewer]) for fewer in range(1, min(5, len(sums)))):
            sys.exit(f"the bits of a row depend on how many there are: {case}")
    print(tile_multiplication.INSTRUCTIONS.name, worst, digest.hexdigest(), sep="\n")


if __name__ == "__main__":
    main()
