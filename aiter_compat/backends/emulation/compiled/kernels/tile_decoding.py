"""Eight rows of packed MXFP4 weights to the scratch that the dot kernels read; intrinsics for numba.

Packed rows keep 32 codes in 16 bytes, column 2i in the low and 2i+1 in the high half of byte i. A group of eight rows
is turned so that a vector register holds four columns of each of the eight rows: one multiplication then serves eight
output features, and no sum across lanes is needed. Vector j (0 to 3) of a block has columns 8j, 8j+2, 8j+4, 8j+6,
vector 4+j the odd ones between them; the activations are stored in that order, so nothing else is moved.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from aiter_compat.backends.emulation.compiled.kernels.vectors import (
    BYTES_8,
    BYTES_16,
    BYTES_32,
    FLOATS_8,
    I8,
    I32,
    I64,
    INTS_8,
    LONGS_4,
    OFFSET,
    SHORTS_16,
    Emitter,
    const,
)

BLOCK = 32
PACKED_BLOCK = 16
LANES = 8
ROWS_AHEAD = 32
"""How far ahead weights are asked for; on Zen 3 16 to 128 rows were equal, and none took half as long again."""
_LINE = 64
# Blocks of columns at once. The decoded tile, 8 kB of integers or 16 kB of floats, shares the first-level cache with
# the activation rows: with 16 kB of integers 16 to 256 rows took a quarter longer on Zen 3.
DIRECT_PIECE = 32
INTEGER_PIECE = 16
FLOAT_PIECE = 8
GROUPS = 2
"""Groups of eight rows that a tile has: gate and up rows of the same features, or sixteen rows in a row."""
INTEGER_BLOCK_BYTES = BLOCK * LANES * GROUPS
FLOAT_COLUMN_BYTES = 4 * LANES * GROUPS
SCALE_BLOCK_BYTES = 4 * LANES * GROUPS


def quads(emit, row, lane_stride):
    """Four vectors of one block: vector j holds bytes 4j to 4j+3 of each of the eight rows."""
    builder = emit.builder
    rows = [row]
    for _ in range(LANES - 1):
        rows.append(builder.add(rows[-1], lane_stride))
    halves = [emit.load(address, BYTES_16) for address in rows]
    pairs = [emit.shuffle(halves[lane], halves[lane + 4], *range(32)) for lane in range(4)]
    words = [builder.bitcast(pair, INTS_8) for pair in pairs]
    low, high = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
    crossed = []
    for order in (low, high):
        first = builder.bitcast(emit.shuffle(words[0], words[1], *order), LONGS_4)
        second = builder.bitcast(emit.shuffle(words[2], words[3], *order), LONGS_4)
        crossed.append(emit.shuffle(first, second, 0, 4, 2, 6))
        crossed.append(emit.shuffle(first, second, 1, 5, 3, 7))
    return [builder.bitcast(vector, BYTES_32) for vector in crossed]


def nibbles(emit, vector):
    """The codes in the low and in the high half of each byte."""
    builder = emit.builder
    mask = const(BYTES_32, 0x0F)
    shifted = builder.bitcast(builder.lshr(builder.bitcast(vector, INTS_8), const(INTS_8, 4)), BYTES_32)
    return builder.and_(vector, mask), builder.and_(shifted, mask)


def prefetch_rows(emit, codes, lane_stride, block, piece):
    """Ask for the same columns of rows further on, two cache lines a block, row by row.

    Sixteen bytes of each of eight rows are too short for the processor to see a pattern; lines that follow each other
    it goes on fetching by itself. Asked for column by column they took a quarter longer on Zen 3.

    Args:
        emit: the emitter.
        codes: address of the first row's first byte in this piece.
        lane_stride: bytes from one row of the group to the next.
        block: number of the block in the piece.
        piece: blocks that are taken at once, a power of two from 8 on.
    """
    builder = emit.builder
    turns = piece // LANES  # of two lines for each of the rows
    turn = builder.and_(block, ir.Constant(I64, turns - 1))
    lane = builder.add(builder.udiv(block, ir.Constant(I64, turns)), ir.Constant(I64, ROWS_AHEAD))
    columns = builder.mul(turn, ir.Constant(I64, 2 * _LINE))
    line = builder.add(builder.add(codes, columns), builder.mul(lane, lane_stride))
    emit.prefetch(line)
    emit.prefetch(emit.plus(line, _LINE))


@intrinsic
def expand_scales(typingctx, scales0, scales1, lane_stride, blocks, out):
    """e8m0 bytes of a tile's rows to fp32, turned to two vectors a block.

    Args:
        typingctx: numba's.
        scales0: address of the first byte of the first group's first row.
        scales1: the same of the second group.
        lane_stride: bytes from one row of a group to the next.
        blocks: how many blocks; eight at a time are read, the rest one by one.
        out: address of fp32 [blocks][16].
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        scales0, scales1, lane_stride, blocks, out = args
        eights = builder.lshr(blocks, ir.Constant(I64, 3))
        whole = builder.shl(eights, ir.Constant(I64, 3))
        with cgutils.for_range(builder, eights, intp=I64) as loop:
            first = builder.shl(loop.index, ir.Constant(I64, 3))
            row0, row1 = builder.add(scales0, first), builder.add(scales1, first)
            vectors = []
            for _ in range(LANES):
                of_both = emit.shuffle(emit.load(row0, BYTES_8), emit.load(row1, BYTES_8), *range(16))
                vectors.append(_e8m0_tops(emit, builder.zext(of_both, SHORTS_16), SHORTS_16))
                row0, row1 = builder.add(row0, lane_stride), builder.add(row1, lane_stride)
            target = builder.add(out, builder.mul(first, ir.Constant(I64, SCALE_BLOCK_BYTES)))
            for block, vector in enumerate(_transposed(emit, vectors)):
                for group in range(GROUPS):
                    tops = emit.shuffle(vector, vector, *range(LANES * group, LANES * (group + 1)))
                    bits = builder.shl(builder.zext(tops, INTS_8), const(INTS_8, 22))
                    emit.store(bits, emit.plus(target, block * SCALE_BLOCK_BYTES + 4 * LANES * group))
        with cgutils.for_range(builder, builder.sub(blocks, whole), intp=I64) as loop:
            block = builder.add(whole, loop.index)
            target = builder.add(out, builder.mul(block, ir.Constant(I64, SCALE_BLOCK_BYTES)))
            for group, scales in enumerate((scales0, scales1)):
                row = builder.add(scales, block)
                for lane in range(LANES):
                    top = _e8m0_tops(emit, builder.zext(emit.load(row, I8), I32), I32)
                    bits = builder.shl(top, ir.Constant(I32, 22))
                    emit.store(bits, emit.plus(target, 4 * (LANES * group + lane)))
                    row = builder.add(row, lane_stride)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), codegen


def _e8m0_tops(emit, bytes_, type_):
    """The upper ten bits of 2^(byte - 127) as fp32: the byte as exponent, a subnormal for 0, NaN for 255."""
    builder = emit.builder

    def number(value):
        return const(type_, value) if isinstance(type_, ir.VectorType) else ir.Constant(type_, value)

    twice = builder.add(bytes_, bytes_)
    not_zero = builder.select(builder.icmp_unsigned(">", twice, number(1)), twice, number(1))
    is_nan = builder.zext(builder.icmp_unsigned("==", twice, number(510)), type_)
    return builder.add(not_zero, is_nan)


def _transposed(emit, vectors):
    """Eight vectors of two groups of eight: rows to columns in each group."""
    low = (0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27)
    high = tuple(lane + 4 for lane in low)
    for _ in range(3):
        halves = [(vectors[lane], vectors[lane + 4]) for lane in range(4)]
        vectors = [emit.shuffle(*pair, *lanes) for pair in halves for lanes in (low, high)]
    return vectors


@intrinsic
def decode_integers(typingctx, codes, lane_stride, blocks, out):
    """Decode to twice-e2m1 integers plus `OFFSET`.

    Args:
        typingctx: numba's.
        codes: address of the first row's first byte.
        lane_stride: bytes from one row of the group to the next.
        blocks: how many blocks of 32 columns.
        out: address of this group's part of the first block; blocks are INTEGER_BLOCK_BYTES apart.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        codes, lane_stride, blocks, out = args
        with cgutils.for_range(builder, blocks, intp=I64) as loop:
            prefetch_rows(emit, codes, lane_stride, loop.index, INTEGER_PIECE)
            row = builder.add(codes, builder.mul(loop.index, ir.Constant(I64, PACKED_BLOCK)))
            target = builder.add(out, builder.mul(loop.index, ir.Constant(I64, INTEGER_BLOCK_BYTES)))
            for place, quad in enumerate(quads(emit, row, lane_stride)):
                for half, codes_of_half in enumerate(nibbles(emit, quad)):
                    offset = (4 * half + place) * GROUPS * BLOCK
                    emit.store(emit.twice_e2m1(codes_of_half, OFFSET), emit.plus(target, offset))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def decode_floats(typingctx, codes, lane_stride, blocks, scales, out):
    """Decode to fp32 values, scaled.

    Args:
        typingctx: numba's.
        codes: as in `decode_integers`.
        lane_stride: as in `decode_integers`.
        blocks: as in `decode_integers`.
        scales: address of the group's eight fp32 scales of the first block; SCALE_BLOCK_BYTES apart.
        out: address of the group's part of the first column; columns are FLOAT_COLUMN_BYTES apart, in their
            logical order.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        codes, lane_stride, blocks, scales, out = args
        with cgutils.for_range(builder, blocks, intp=I64) as loop:
            prefetch_rows(emit, codes, lane_stride, loop.index, FLOAT_PIECE)
            row = builder.add(codes, builder.mul(loop.index, ir.Constant(I64, PACKED_BLOCK)))
            target = builder.add(out, builder.mul(loop.index, ir.Constant(I64, BLOCK * FLOAT_COLUMN_BYTES)))
            scale = emit.load(
                builder.add(scales, builder.mul(loop.index, ir.Constant(I64, SCALE_BLOCK_BYTES))), FLOATS_8
            )
            # Half of it, because the integers are twice the values. 2^-127 halved is still exact: a subnormal.
            scale = builder.fmul(scale, const(FLOATS_8, 0.5))
            for place, quad in enumerate(quads(emit, row, lane_stride)):
                for half, codes_of_half in enumerate(nibbles(emit, quad)):
                    words = builder.bitcast(emit.twice_e2m1(codes_of_half, 0), INTS_8)
                    for byte in range(4):
                        column = 8 * place + 2 * byte + half
                        top = builder.shl(words, const(INTS_8, 24 - 8 * byte)) if byte < 3 else words
                        value = builder.sitofp(builder.ashr(top, const(INTS_8, 24)), FLOATS_8)
                        emit.store(builder.fmul(value, scale), emit.plus(target, column * FLOAT_COLUMN_BYTES))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64, types.int64), codegen
