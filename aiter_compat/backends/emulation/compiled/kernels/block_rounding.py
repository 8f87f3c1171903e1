"""Activations to the rows that the products read: twice-e2m1 integers, or fp32 values; block by block of 32."""

import numpy as np
from numba import carray
from numba.core import types
from numba.extending import intrinsic

from aiter_compat.backends.emulation.compiled.kernels.compiler import SOURCES, inline, separately
from aiter_compat.backends.emulation.compiled.kernels.memory import (
    belongs_to,
    bits_of,
    caller_of,
    float_of,
    write_float32,
    write_int8,
    write_int32,
)
from aiter_compat.backends.emulation.compiled.kernels.number_formats import (
    rounded_to_grid,
    scale_byte,
    scale_reciprocal,
    scale_value,
)
from aiter_compat.backends.emulation.compiled.kernels.vectors import OFFSET, Emitter

# What a stage's activations are rounded through.
AS_MXFP4, AS_MXFP8, UNROUNDED = 0, 1, 2

_E2M1_LARGEST = np.float32(6.0)
_E4M3_LARGEST = np.float32(448.0)
_QUARTER = np.float32(0.25)
_TWO = np.float32(2.0)
_MAGNITUDE = np.int32(0x7FFFFFFF)
_OFFSET = np.int32(OFFSET)


@intrinsic
def correction_word(typingctx, correction):
    """A block's correction as the products of this processor read it."""

    def codegen(context, builder, signature, args):
        return Emitter(context, builder).correction(args[0])

    return types.int32(types.int32), codegen


@inline
def row_bytes(columns, rounding):
    """Size of one row: integers, a scale and a correction a block; or fp32 values."""
    return columns + columns // 4 if rounding == AS_MXFP4 else 4 * columns


@inline
def _largest_magnitude(values):
    largest = np.int32(0)
    for i in range(32):
        magnitude = bits_of(values[i]) & _MAGNITUDE
        largest = magnitude if magnitude > largest else largest
    return float_of(largest)


@inline
def _at_least(amax, floor):
    return floor if amax < floor else amax  # NaN stays


@inline
def _store_integers(values, integers, byte, row, columns, block):
    at = row + 32 * block
    total = np.int32(0)
    if byte == 255:
        for i in range(32):
            write_int8(at + i, np.int8(0))  # whatever they are, the block is NaN through its scale
    else:
        reciprocal = scale_reciprocal(byte)
        for i in range(32):
            y = values[i] * reciprocal
            y = _E2M1_LARGEST if y > _E2M1_LARGEST else y
            y = -_E2M1_LARGEST if y < -_E2M1_LARGEST else y
            integers[i] = np.int32(rounded_to_grid(y, 1, 0) * _TWO)
            total += integers[i]
        for i in range(16):
            write_int8(at + i, np.int8(integers[2 * i]))
            write_int8(at + 16 + i, np.int8(integers[2 * i + 1]))
    # Both operands are twice their value. The weights are unsigned by an offset; what that adds is taken off again.
    write_float32(row + columns + 4 * block, scale_value(byte) * _QUARTER)
    write_int32(row + columns + columns // 8 + 4 * block, correction_word(np.int32(-_OFFSET * total)))


_ARGUMENTS = (
    types.CPointer(types.float32),
    types.CPointer(types.int32),
    types.int64,
    types.int64,
    types.float32,
    types.int64,
    types.int64,
    types.int64,
)
call_store_block = caller_of(*_ARGUMENTS)


def _build(digest):
    @separately(types.void(*_ARGUMENTS))
    def store_block(value_pointer, integer_pointer, rounding, rule, amax_floor, row, columns, block):
        """Round a block and store it in its row.

        Args:
            value_pointer: fp32 [32].
            integer_pointer: int32 [32], scratch.
            rounding: AS_MXFP4, AS_MXFP8 or UNROUNDED.
            rule: scale rule.
            amax_floor: smallest block maximum that counts, fp32.
            row: address of the row.
            columns: K.
            block: which block of the row.
        """
        belongs_to(digest)
        values, integers = carray(value_pointer, 32), carray(integer_pointer, 32)
        if rounding == AS_MXFP4:
            byte = scale_byte(_at_least(_largest_magnitude(values), amax_floor), rule, 2, 1, _E2M1_LARGEST)
            _store_integers(values, integers, byte, row, columns, block)
        elif rounding == AS_MXFP8:
            byte = scale_byte(_at_least(_largest_magnitude(values), amax_floor), rule, 8, 3, _E4M3_LARGEST)
            scale = scale_value(byte)
            reciprocal = scale_reciprocal(byte) if byte < 255 else scale
            for i in range(32):
                y = values[i] * reciprocal
                y = _E4M3_LARGEST if y > _E4M3_LARGEST else y
                y = -_E4M3_LARGEST if y < -_E4M3_LARGEST else y
                write_float32(row + 4 * (32 * block + i), rounded_to_grid(y, 3, -6) * scale)
        else:
            for i in range(32):
                write_float32(row + 4 * (32 * block + i), values[i])

    return store_block


store_block = _build(SOURCES)
