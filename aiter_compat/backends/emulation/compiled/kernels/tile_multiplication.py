"""Sixteen rows of one expert's matrix times the activation rows of its slots."""

from numba.core import types
from numba.core.registry import cpu_target

from aiter_compat.backends.emulation.compiled.kernels.block_rounding import AS_MXFP4
from aiter_compat.backends.emulation.compiled.kernels.compiler import SOURCES, inline, separately
from aiter_compat.backends.emulation.compiled.kernels.instruction_sets import TILE_BYTES
from aiter_compat.backends.emulation.compiled.kernels.memory import belongs_to, caller_of, out_of_line
from aiter_compat.backends.emulation.compiled.kernels.tile_decoding import (
    DIRECT_PIECE,
    FLOAT_COLUMN_BYTES,
    FLOAT_PIECE,
    INTEGER_BLOCK_BYTES,
    INTEGER_PIECE,
    decode_floats,
    decode_integers,
    expand_scales,
)
from aiter_compat.backends.emulation.compiled.kernels.tile_products import (
    add_direct_float_products,
    add_direct_products,
    add_float_products,
    add_integer_products,
    clear_sums,
)
from aiter_compat.backends.emulation.compiled.kernels.vectors import instructions_of

INSTRUCTIONS = instructions_of(cpu_target.target_context)
"""What this processor has, so what the kernels are compiled to."""
TILE_ROWS = 16
GROUP_ROWS = 8
_DIRECT_ROWS = INSTRUCTIONS.integer_rows[0]
DECODED_BYTES = max(INTEGER_PIECE * INTEGER_BLOCK_BYTES, FLOAT_PIECE * 32 * FLOAT_COLUMN_BYTES)
SCALES_BYTES = DIRECT_PIECE * TILE_BYTES
SCRATCH_BYTES = DECODED_BYTES + SCALES_BYTES


@inline
def _add_directly(codes0, codes1, code_stride, blocks, first, columns, rows, count, sums, scales):
    out_of_line()
    corrections = columns + columns // 8
    add_direct_products(codes0, codes1, code_stride, scales, blocks, sums, columns, corrections, first, rows, count)


@inline
def _add_integers(codes0, codes1, code_stride, blocks, first, columns, rows, count, sums, scratch):
    decode_integers(codes0, codes1, code_stride, blocks, scratch)
    corrections = columns + columns // 8
    scales = scratch + DECODED_BYTES
    add_integer_products(scratch, scales, blocks, sums, columns, corrections, first, rows, count)


@inline
def _add_floats(codes0, codes1, code_stride, blocks, first, rows, count, sums, scratch):
    decode_floats(codes0, codes1, code_stride, blocks, scratch + DECODED_BYTES, scratch)
    add_float_products(scratch, 32 * blocks, sums, 128 * first, rows, count)


@inline
def _add_floats_directly(codes0, codes1, code_stride, blocks, first, rows, count, sums, scales):
    out_of_line()
    add_direct_float_products(codes0, codes1, code_stride, scales, blocks, sums, 128 * first, rows, count)


_ARGUMENTS = (types.int64,) * 12
call_multiply_tile = caller_of(*_ARGUMENTS)


def _build(digest):
    @separately(types.void(*_ARGUMENTS))
    def multiply_tile(
        codes0, codes1, code_stride, scales0, scales1, scale_stride, columns, rounding, rows, count, sums, scratch
    ):
        """Fill the sums of a tile.

        Args:
            codes0: address of the first row of the tile's first group of eight.
            codes1: the same of the second group.
            code_stride: bytes between the rows of a group.
            scales0: address of the e8m0 bytes of the first group's first row.
            scales1: the same of the second group.
            scale_stride: bytes between the scales of two rows.
            columns: K.
            rounding: what the activation rows hold.
            rows: address of int64 [count], addresses of the activation rows.
            count: how many.
            sums: address of fp32 [count, 16], overwritten.
            scratch: address of SCRATCH_BYTES bytes; at the start of a cache line, or vectors lie across two.
        """
        belongs_to(digest)
        clear_sums(sums, count)
        blocks = columns // 32
        directly = count <= _DIRECT_ROWS
        piece = DIRECT_PIECE
        if not directly:
            piece = INTEGER_PIECE if rounding == AS_MXFP4 else FLOAT_PIECE
        scales = scratch + DECODED_BYTES
        for first in range(0, blocks, piece):
            size = min(piece, blocks - first)
            expand_scales(scales0 + first, scales1 + first, scale_stride, size, scales)
            codes_here0 = codes0 + 16 * first
            codes_here1 = codes1 + 16 * first
            if rounding == AS_MXFP4:
                if directly:
                    _add_directly(
                        codes_here0, codes_here1, code_stride, size, first, columns, rows, count, sums, scales
                    )
                else:
                    _add_integers(
                        codes_here0, codes_here1, code_stride, size, first, columns, rows, count, sums, scratch
                    )
            elif directly:
                _add_floats_directly(codes_here0, codes_here1, code_stride, size, first, rows, count, sums, scales)
            else:
                _add_floats(codes_here0, codes_here1, code_stride, size, first, rows, count, sums, scratch)

    return multiply_tile


multiply_tile = _build(SOURCES)
