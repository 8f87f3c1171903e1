"""Sixteen rows of one expert's matrix times the activation rows of its slots."""

from numba.core import types

from aiter_compat.backends.emulation.compiled.kernels.block_rounding import AS_MXFP4
from aiter_compat.backends.emulation.compiled.kernels.compiler import SOURCES, inline, separately
from aiter_compat.backends.emulation.compiled.kernels.memory import (
    belongs_to,
    caller_of,
    out_of_line,
    read_int64,
)
from aiter_compat.backends.emulation.compiled.kernels.tile_decoding import (
    DIRECT_PIECE,
    FLOAT_PIECE,
    INTEGER_PIECE,
    decode_floats,
    decode_integers,
    expand_scales,
)
from aiter_compat.backends.emulation.compiled.kernels.tile_products import (
    SUM_BYTES,
    VECTOR_BYTES,
    clear_sums,
    direct_product_1,
    direct_product_2,
    direct_product_3,
    float_product_1,
    float_product_2,
    float_product_4,
    integer_product_1,
    integer_product_2,
    integer_product_3,
)

TILE_ROWS = 16
GROUP_ROWS = 8
_DIRECT_ROWS = 3
DECODED_BYTES = 16384
SCALES_BYTES = DIRECT_PIECE * 4 * TILE_ROWS
SCRATCH_BYTES = DECODED_BYTES + SCALES_BYTES


@inline
def _row(rows, index):
    return read_int64(rows + 8 * index)


@inline
def _add_directly(codes0, codes1, code_stride, blocks, first, columns, rows, count, sums, scales):
    out_of_line()
    corrections = columns + columns // 8
    if count == 1:
        x = (_row(rows, 0),)
        direct_product_1(codes0, codes1, code_stride, scales, blocks, sums, columns, corrections, first, x)
    elif count == 2:
        y = (_row(rows, 0), _row(rows, 1))
        direct_product_2(codes0, codes1, code_stride, scales, blocks, sums, columns, corrections, first, y)
    else:
        z = (_row(rows, 0), _row(rows, 1), _row(rows, 2))
        direct_product_3(codes0, codes1, code_stride, scales, blocks, sums, columns, corrections, first, z)


@inline
def _add_integers(codes0, codes1, code_stride, blocks, first, columns, rows, count, sums, scratch):
    scales = scratch + DECODED_BYTES
    decode_integers(codes0, code_stride, blocks, scratch)
    decode_integers(codes1, code_stride, blocks, scratch + VECTOR_BYTES)
    corrections = columns + columns // 8
    done = 0
    while count - done >= 3:
        x = (_row(rows, done), _row(rows, done + 1), _row(rows, done + 2))
        integer_product_3(scratch, scales, blocks, sums + done * SUM_BYTES, columns, corrections, first, x)
        done += 3
    if count - done == 2:
        y = (_row(rows, done), _row(rows, done + 1))
        integer_product_2(scratch, scales, blocks, sums + done * SUM_BYTES, columns, corrections, first, y)
    elif count - done == 1:
        z = (_row(rows, done),)
        integer_product_1(scratch, scales, blocks, sums + done * SUM_BYTES, columns, corrections, first, z)


@inline
def _add_floats(codes0, codes1, code_stride, blocks, first, rows, count, sums, scratch):
    scales = scratch + DECODED_BYTES
    decode_floats(codes0, code_stride, blocks, scales, scratch)
    decode_floats(codes1, code_stride, blocks, scales + VECTOR_BYTES, scratch + VECTOR_BYTES)
    columns, at = 32 * blocks, 128 * first
    done = 0
    while count - done >= 4:
        x = (_row(rows, done) + at, _row(rows, done + 1) + at, _row(rows, done + 2) + at, _row(rows, done + 3) + at)
        float_product_4(scratch, columns, sums + done * SUM_BYTES, x)
        done += 4
    while count - done >= 2:
        y = (_row(rows, done) + at, _row(rows, done + 1) + at)
        float_product_2(scratch, columns, sums + done * SUM_BYTES, y)
        done += 2
    if count - done == 1:
        z = (_row(rows, done) + at,)
        float_product_1(scratch, columns, sums + done * SUM_BYTES, z)


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
            scratch: address of SCRATCH_BYTES bytes.
        """
        belongs_to(digest)
        clear_sums(sums, count)
        blocks = columns // 32
        piece = DIRECT_PIECE if count <= _DIRECT_ROWS else INTEGER_PIECE
        if rounding != AS_MXFP4:
            piece = FLOAT_PIECE
        scales = scratch + DECODED_BYTES
        for first in range(0, blocks, piece):
            size = min(piece, blocks - first)
            expand_scales(scales0 + first, scales1 + first, scale_stride, size, scales)
            codes_here0 = codes0 + 16 * first
            codes_here1 = codes1 + 16 * first
            if rounding != AS_MXFP4:
                _add_floats(codes_here0, codes_here1, code_stride, size, first, rows, count, sums, scratch)
            elif count <= _DIRECT_ROWS:
                _add_directly(codes_here0, codes_here1, code_stride, size, first, columns, rows, count, sums, scales)
            else:
                _add_integers(codes_here0, codes_here1, code_stride, size, first, columns, rows, count, sums, scratch)

    return multiply_tile


multiply_tile = _build(SOURCES)
