"""A decoded tile of sixteen rows times a few activation rows; intrinsics for numba.

The integer form multiplies bytes: both operands are twice-e2m1 integers, the sum over a block of 32 columns is exact in
16 bits, and one multiply-add in fp32 brings in the two scales. The float form is a plain fp32 product. Sums run over
the columns in one fixed order, so the bits depend on neither the number of rows taken at once nor the threads.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from aiter_compat.backends.emulation.compiled.kernels.tile_decoding import (
    BLOCK,
    FLOAT_COLUMN_BYTES,
    GROUPS,
    INTEGER_BLOCK_BYTES,
    PACKED_BLOCK,
    SCALE_BLOCK_BYTES,
    nibbles,
    prefetch_rows,
    quads,
)
from aiter_compat.backends.emulation.compiled.kernels.vectors import (
    BYTES_32,
    F32,
    FLOATS_8,
    I32,
    I64,
    INTS_8,
    OFFSET,
    SHORTS_16,
    Emitter,
    const,
)

VECTOR_BYTES = 32
SUM_BYTES = GROUPS * VECTOR_BYTES
"""fp32 sums of one activation row against a tile."""


class _Sums:
    """fp32 accumulators of some rows, in registers while the loop runs, added to memory at the end."""

    def __init__(self, emit, rows, groups=GROUPS):
        self.emit = emit
        zero = const(FLOATS_8, 0.0)
        self.slots = [[cgutils.alloca_once_value(emit.builder, zero) for _ in range(groups)] for _ in range(rows)]

    def get(self, row, group):
        return self.emit.builder.load(self.slots[row][group])

    def put(self, value, row, group):
        self.emit.builder.store(value, self.slots[row][group])

    def add_to(self, address):
        emit = self.emit
        for row, groups in enumerate(self.slots):
            for group in range(len(groups)):
                place = emit.plus(address, row * SUM_BYTES + group * VECTOR_BYTES)
                emit.store(emit.builder.fadd(emit.load(place, FLOATS_8), self.get(row, group)), place)


def _integer_product(rows):
    @intrinsic
    def product(typingctx, weights, weight_scales, blocks, sums, scale_offset, correction_offset, first, activations):
        """Add the product of `blocks` blocks to the sums.

        Args:
            typingctx: numba's.
            weights: address of the tile as `decode_integers` leaves it, for two groups of rows.
            weight_scales: address of fp32 [blocks][16] scales.
            blocks: how many.
            sums: address of fp32 [rows][16].
            scale_offset: bytes from the start of an activation row to its fp32 scales.
            correction_offset: the same to its corrections.
            first: number of the first block in the activation row.
            activations: tuple of addresses of activation rows.
        """

        def codegen(context, builder, signature, args):
            emit = Emitter(context, builder)
            weights, weight_scales, blocks, sums, scale_offset, correction_offset, first, packed = args
            starts = cgutils.unpack_tuple(builder, packed, rows)
            totals = _Sums(emit, rows)
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                block = builder.add(loop.index, first)
                four = builder.mul(block, ir.Constant(I64, 4))
                columns = builder.mul(block, ir.Constant(I64, BLOCK))
                tile = builder.add(weights, builder.mul(loop.index, ir.Constant(I64, INTEGER_BLOCK_BYTES)))
                x = [builder.add(start, columns) for start in starts]
                dots = []
                for start in starts:
                    at = builder.add(builder.add(start, correction_offset), four)
                    correction = builder.bitcast(emit.broadcast(emit.load(at, I32), INTS_8), SHORTS_16)
                    dots.append([correction] * GROUPS)
                for quad in range(8):
                    w = [emit.load(emit.plus(tile, (quad * GROUPS + group) * 32), BYTES_32) for group in range(GROUPS)]
                    for row in range(rows):
                        word = emit.load(emit.plus(x[row], 4 * quad), I32)
                        spread = builder.bitcast(emit.broadcast(word, INTS_8), BYTES_32)
                        for group in range(GROUPS):
                            grown = builder.add(dots[row][group], emit.pair_sums(w[group], spread))
                            dots[row][group] = emit.in_order(grown)
                scales = builder.add(weight_scales, builder.mul(loop.index, ir.Constant(I64, SCALE_BLOCK_BYTES)))
                of_weights = [emit.load(emit.plus(scales, group * VECTOR_BYTES), FLOATS_8) for group in range(GROUPS)]
                for row, start in enumerate(starts):
                    at = builder.add(builder.add(start, scale_offset), four)
                    of_row = emit.broadcast(emit.load(at, F32), FLOATS_8)
                    for group in range(GROUPS):
                        exact = builder.sitofp(emit.neighbour_sums(dots[row][group]), FLOATS_8)
                        scaled = builder.fmul(exact, of_row)
                        totals.put(emit.multiply_add(scaled, of_weights[group], totals.get(row, group)), row, group)
            totals.add_to(sums)
            return context.get_dummy_value()

        addresses = types.UniTuple(types.int64, rows)
        return types.void(*[types.int64] * 7, addresses), codegen

    return product


def _direct_product(rows):
    @intrinsic
    def product(
        typingctx, codes, lane_stride, weight_scales, blocks, sums, scale_offset, correction_offset, first, activations
    ):
        """The same for one group of eight rows, decoded in registers: for few activation rows.

        Args:
            typingctx: numba's.
            codes: as in `decode_integers`.
            lane_stride: as in `decode_integers`.
            weight_scales: address of the group's eight scales of the first block; SCALE_BLOCK_BYTES apart.
            blocks: how many.
            sums: address of the group's eight fp32 sums of the first activation row; SUM_BYTES apart.
            scale_offset: as in `integer_product_1`.
            correction_offset: as in `integer_product_1`.
            first: as in `integer_product_1`.
            activations: as in `integer_product_1`.
        """

        def codegen(context, builder, signature, args):
            emit = Emitter(context, builder)
            codes, lane_stride, weight_scales, blocks, sums, scale_offset, correction_offset, first, packed = args
            starts = cgutils.unpack_tuple(builder, packed, rows)
            totals = _Sums(emit, rows, groups=1)
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                block = builder.add(loop.index, first)
                four = builder.mul(block, ir.Constant(I64, 4))
                columns = builder.mul(block, ir.Constant(I64, BLOCK))
                prefetch_rows(emit, codes, lane_stride, loop.index)
                row_of_codes = builder.add(codes, builder.mul(loop.index, ir.Constant(I64, PACKED_BLOCK)))
                x = [builder.add(start, columns) for start in starts]
                dots = []
                for start in starts:
                    at = builder.add(builder.add(start, correction_offset), four)
                    dots.append(builder.bitcast(emit.broadcast(emit.load(at, I32), INTS_8), SHORTS_16))
                for place, quad in enumerate(quads(emit, row_of_codes, lane_stride)):
                    for half, codes_of_half in enumerate(nibbles(emit, quad)):
                        w = emit.twice_e2m1(codes_of_half, OFFSET)
                        for row in range(rows):
                            word = emit.load(emit.plus(x[row], 16 * half + 4 * place), I32)
                            spread = builder.bitcast(emit.broadcast(word, INTS_8), BYTES_32)
                            dots[row] = emit.in_order(builder.add(dots[row], emit.pair_sums(w, spread)))
                at = builder.add(weight_scales, builder.mul(loop.index, ir.Constant(I64, SCALE_BLOCK_BYTES)))
                of_weights = emit.load(at, FLOATS_8)
                for row, start in enumerate(starts):
                    at = builder.add(builder.add(start, scale_offset), four)
                    exact = builder.sitofp(emit.neighbour_sums(dots[row]), FLOATS_8)
                    scaled = builder.fmul(exact, emit.broadcast(emit.load(at, F32), FLOATS_8))
                    totals.put(emit.multiply_add(scaled, of_weights, totals.get(row, 0)), row, 0)
            totals.add_to(sums)
            return context.get_dummy_value()

        addresses = types.UniTuple(types.int64, rows)
        return types.void(*[types.int64] * 8, addresses), codegen

    return product


def _float_product(rows):
    @intrinsic
    def product(typingctx, weights, columns, sums, activations):
        """Add the product of `columns` columns to the sums.

        Args:
            typingctx: numba's.
            weights: address of the tile as `decode_floats` leaves it, for two groups of rows.
            columns: how many.
            sums: address of fp32 [rows][16].
            activations: tuple of addresses of fp32 activation rows, at the first column.
        """

        def codegen(context, builder, signature, args):
            emit = Emitter(context, builder)
            weights, columns, sums, packed = args
            starts = cgutils.unpack_tuple(builder, packed, rows)
            totals = _Sums(emit, rows)
            with cgutils.for_range(builder, columns, intp=I64) as loop:
                tile = builder.add(weights, builder.mul(loop.index, ir.Constant(I64, FLOAT_COLUMN_BYTES)))
                w = [emit.load(emit.plus(tile, group * VECTOR_BYTES), FLOATS_8) for group in range(GROUPS)]
                four = builder.mul(loop.index, ir.Constant(I64, 4))
                for row, start in enumerate(starts):
                    x = emit.broadcast(emit.load(builder.add(start, four), F32), FLOATS_8)
                    for group in range(GROUPS):
                        totals.put(emit.multiply_add(x, w[group], totals.get(row, group)), row, group)
            totals.add_to(sums)
            return context.get_dummy_value()

        addresses = types.UniTuple(types.int64, rows)
        return types.void(types.int64, types.int64, types.int64, addresses), codegen

    return product


integer_product_1, integer_product_2, integer_product_3 = (_integer_product(rows) for rows in (1, 2, 3))
direct_product_1, direct_product_2, direct_product_3 = (_direct_product(rows) for rows in (1, 2, 3))
float_product_1, float_product_2, float_product_4 = (_float_product(rows) for rows in (1, 2, 4))
