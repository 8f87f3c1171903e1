"""Sixteen rows of packed MXFP4 weights to the scratch that the dot kernels read; intrinsics for numba.

Packed rows keep 32 codes in 16 bytes, column 2i in the low and 2i+1 in the high half of byte i. The rows of a tile are
turned so that a vector register holds four columns of each of eight rows, or of all sixteen where registers are that
wide: one multiplication then serves as many output features, and no sum across lanes is needed. Of the eight quads of
a block, quad j (0 to 3) has columns 8j, 8j+2, 8j+4, 8j+6, quad 4+j the odd ones between them; the activations are
stored in that order, so nothing else is moved. In memory a quad is 64 bytes, four for each row of the tile.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from aiter_compat.backends.emulation.compiled.kernels.instruction_sets import TILE_BYTES
from aiter_compat.backends.emulation.compiled.kernels.vectors import (
    BYTES_8,
    BYTES_16,
    I8,
    I32,
    I64,
    OFFSET,
    SHORTS_16,
    Emitter,
    const,
)

BLOCK = 32
PACKED_BLOCK = 16
LANES = 8
"""Rows of a group."""
GROUPS = 2
"""Groups of eight rows that a tile has: gate and up rows of the same features, or sixteen rows in a row."""
ROWS_AHEAD = 16
"""How far ahead weights are asked for, in whole tiles; what lies behind an expert's last row is asked for in vain.

On Zen 3 one token took 2 to 9 % longer with 32 rows, 10 % with 8, 18 % with 64 and half as long again with none.
"""
_LINE = 64
# Blocks of columns at once. The decoded tile, 8 kB of integers or 16 kB of floats, shares the first-level cache with
# the activation rows: with 16 kB of integers 16 to 256 rows took a quarter longer on Zen 3.
DIRECT_PIECE = 32
INTEGER_PIECE = 16
FLOAT_PIECE = 8
QUADS = 8
INTEGER_BLOCK_BYTES = QUADS * TILE_BYTES
FLOAT_COLUMN_BYTES = TILE_BYTES
SCALE_BLOCK_BYTES = TILE_BYTES


def groups_by_vector(emit, codes0, codes1):
    """The groups of a tile, given by their first rows, in lists: those whose rows share a vector."""
    return [[codes0, codes1]] if emit.instructions.vectors == 1 else [[codes0], [codes1]]


def _quads(emit, groups, lane_stride):
    """Four vectors of one block: vector j holds bytes 4j to 4j+3 of each row of the groups.

    Args:
        emit: the emitter.
        groups: one list of `groups_by_vector`, addresses of the block in the first rows.
        lane_stride: bytes from one row of a group to the next.
    """
    builder = emit.builder
    rows = []
    for row in groups:
        rows.append(row)
        for _ in range(LANES - 1):
            rows.append(builder.add(rows[-1], lane_stride))
    # Every fourth row: in each 128 bits then lie four rows that the two crossings below sort by words.
    words = [builder.bitcast(_side_by_side(emit, rows[first::4]), emit.ints) for first in range(4)]
    crossed = []
    for half in (0, 2):
        order = _crossing(emit.ints.count, 4, (half, half + 1))
        first = builder.bitcast(emit.shuffle(words[0], words[1], *order), emit.longs)
        second = builder.bitcast(emit.shuffle(words[2], words[3], *order), emit.longs)
        crossed += [emit.shuffle(first, second, *_crossing(emit.longs.count, 2, (lane,))) for lane in (0, 1)]
    return [builder.bitcast(vector, emit.bytes) for vector in crossed]


def block_quads(emit, groups, lane_stride, block, piece):
    """`_quads` of one block of a piece; asks for the rows further on too.

    Args:
        emit: the emitter.
        groups: one list of `groups_by_vector`, addresses of the piece in the first rows.
        lane_stride: as in `_quads`.
        block: number of the block in the piece.
        piece: as in `prefetch_rows`.
    """
    builder = emit.builder
    for group in groups:
        prefetch_rows(emit, group, lane_stride, block, piece)
    columns = builder.mul(block, ir.Constant(I64, PACKED_BLOCK))
    return _quads(emit, [builder.add(group, columns) for group in groups], lane_stride)


def block_row_pairs(emit, codes, lane_stride, block, piece):
    """Rows of one block of a piece as they lie, row i of a group beside row i + 4; asks for the rows further on too.

    Args:
        emit: the emitter, of vectors of 32 bytes.
        codes: address of the piece in the group's first row.
        lane_stride: as in `_quads`.
        block: number of the block in the piece.
        piece: as in `prefetch_rows`.
    """
    builder = emit.builder
    prefetch_rows(emit, codes, lane_stride, block, piece)
    first_row = emit.opaque(builder.add(codes, builder.mul(block, ir.Constant(I64, PACKED_BLOCK))))
    rows = [builder.add(first_row, builder.mul(lane_stride, ir.Constant(I64, lane))) for lane in range(LANES)]
    return [_side_by_side(emit, rows[first :: LANES // 2]) for first in range(LANES // 2)]


def one_lane_a_row(emit, vectors):
    """The sums of each row of `block_row_pairs`, eight of 16 bits, to two of 16 bits in one lane of 32, in row order.

    Args:
        emit: the emitter.
        vectors: four vectors of 16-bit sums whose own sums stay within 16 bits.
    """

    def halved(left, right, type_):
        left, right = (emit.builder.bitcast(vector, type_) for vector in (left, right))
        lanes = 16 // (type_.element.width // 8)
        lower, upper = range(lanes // 2), range(lanes // 2, lanes)
        halves = (emit.shuffle(left, right, *_crossing(type_.count, lanes, half)) for half in (lower, upper))
        return emit.builder.add(*(emit.builder.bitcast(half, emit.shorts) for half in halves))

    pairs = [halved(*vectors[first : first + 2], emit.ints) for first in (0, 2)]
    return halved(*pairs, emit.longs)


def _side_by_side(emit, addresses):
    """Sixteen bytes of each of some rows in one vector; each but the first is put in its place as it is loaded."""
    size = emit.bytes.count
    everywhere = [lane % PACKED_BLOCK for lane in range(size)]
    joined = None
    for place, address in enumerate(addresses):
        row = emit.load(address, BYTES_16)
        row = emit.shuffle(row, row, *everywhere)
        begin, end = PACKED_BLOCK * place, PACKED_BLOCK * (place + 1)
        lanes = [lane + size if begin <= lane < end else lane for lane in range(size)]
        joined = row if joined is None else emit.shuffle(joined, row, *lanes)
    return joined


def _crossing(lanes, period, chosen):
    """Lanes of two vectors: in each 128 bits, of `period` lanes, the chosen ones of both in turn."""
    return [start + lane + side for start in range(0, lanes, period) for lane in chosen for side in (0, lanes)]


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
        _prefetch_scales(emit, (scales0, scales1), lane_stride)
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
                for part in range(emit.instructions.vectors):
                    lanes = emit.instructions.lanes
                    tops = emit.shuffle(vector, vector, *range(lanes * part, lanes * (part + 1)))
                    bits = builder.shl(builder.zext(tops, emit.ints), const(emit.ints, 22))
                    emit.store(bits, emit.plus(target, block * SCALE_BLOCK_BYTES + 4 * lanes * part))
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


def _prefetch_scales(emit, groups, lane_stride):
    """Ask for the scales of rows further on, which are what the next tiles wait for otherwise."""
    for scales in groups:
        for lane in range(LANES):
            distance = emit.builder.mul(lane_stride, ir.Constant(I64, ROWS_AHEAD + lane))
            emit.prefetch(emit.builder.add(scales, distance))


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
def decode_integers(typingctx, codes0, codes1, lane_stride, blocks, out):
    """Decode to twice-e2m1 integers plus `OFFSET`.

    Args:
        typingctx: numba's.
        codes0: address of the first byte of the first group's first row.
        codes1: the same of the second group.
        lane_stride: bytes from one row of a group to the next.
        blocks: how many blocks of 32 columns.
        out: address of [blocks][QUADS][TILE_BYTES] bytes.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        codes0, codes1, lane_stride, blocks, out = args
        for part, groups in enumerate(groups_by_vector(emit, codes0, codes1)):
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                target = builder.add(out, builder.mul(loop.index, ir.Constant(I64, INTEGER_BLOCK_BYTES)))
                target = emit.plus(target, part * emit.instructions.vector_bytes)
                of_block = block_quads(emit, groups, lane_stride, loop.index, INTEGER_PIECE)
                for place, quad in enumerate(of_block):
                    for half, codes_of_half in enumerate(emit.nibbles(quad)):
                        offset = (4 * half + place) * TILE_BYTES
                        emit.store(emit.twice_e2m1(codes_of_half, OFFSET), emit.plus(target, offset))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), codegen


def columns_of_quad(place):
    """Columns of a block that a quad and its other half hold, in their order: each with its byte and its half."""
    return [(8 * place + 2 * byte + half, byte, half) for byte in range(4) for half in range(2)]


def halved(emit, scales):
    """Scales for twice the values. 2^-127 halved is still exact: a subnormal."""
    return emit.builder.fmul(scales, const(emit.floats, 0.5))


@intrinsic
def decode_floats(typingctx, codes0, codes1, lane_stride, blocks, scales, out):
    """Decode to fp32 values, scaled.

    Args:
        typingctx: numba's.
        codes0: as in `decode_integers`.
        codes1: as in `decode_integers`.
        lane_stride: as in `decode_integers`.
        blocks: as in `decode_integers`.
        scales: address of fp32 [blocks][16] scales.
        out: address of fp32 [32 * blocks][16], columns in their logical order.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        codes0, codes1, lane_stride, blocks, scales, out = args
        for part, groups in enumerate(groups_by_vector(emit, codes0, codes1)):
            at = part * emit.instructions.vector_bytes
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                target = builder.add(out, builder.mul(loop.index, ir.Constant(I64, BLOCK * FLOAT_COLUMN_BYTES)))
                of_block = builder.add(scales, builder.mul(loop.index, ir.Constant(I64, SCALE_BLOCK_BYTES)))
                scale = halved(emit, emit.load(emit.plus(of_block, at), emit.floats))
                for place, quad in enumerate(block_quads(emit, groups, lane_stride, loop.index, FLOAT_PIECE)):
                    words = [emit.twice_e2m1_words(codes) for codes in emit.nibbles(quad)]
                    for column, byte, half in columns_of_quad(place):
                        value = emit.value_of_byte(words[half], byte, scale)
                        emit.store(value, emit.plus(target, column * FLOAT_COLUMN_BYTES + at))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), codegen
