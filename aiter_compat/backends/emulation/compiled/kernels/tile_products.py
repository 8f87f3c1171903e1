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
    DIRECT_PIECE,
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
    """fp32 accumulators of some rows: taken from memory, in registers while the loop runs, put back at the end.

    A product of the next columns goes on where the one before stopped, so the order of additions, and with it the bits,
    is the same whatever number of columns is taken at once.
    """

    def __init__(self, emit, rows, address):
        self.emit = emit
        self.address = address
        self.slots = [
            [
                cgutils.alloca_once_value(emit.builder, emit.load(self._place(row, group), FLOATS_8))
                for group in range(GROUPS)
            ]
            for row in range(rows)
        ]

    def _place(self, row, group):
        return self.emit.plus(self.address, row * SUM_BYTES + group * VECTOR_BYTES)

    def add_product(self, left, right, row, group):
        slot = self.slots[row][group]
        builder = self.emit.builder
        builder.store(self.emit.multiply_add(left, right, builder.load(slot)), slot)

    def put_back(self):
        for row, groups in enumerate(self.slots):
            for group, slot in enumerate(groups):
                self.emit.store(self.emit.builder.load(slot), self._place(row, group))


@intrinsic
def clear_sums(typingctx, sums, rows):
    """Set fp32 [rows][16] to zero, by vectors as the products read them: shorter writes would delay those reads."""

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        with cgutils.for_range(builder, args[1], intp=I64) as loop:
            row = builder.add(args[0], builder.mul(loop.index, ir.Constant(I64, SUM_BYTES)))
            for group in range(GROUPS):
                emit.store(const(FLOATS_8, 0.0), emit.plus(row, group * VECTOR_BYTES))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


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
            totals = _Sums(emit, rows, sums)
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
                        totals.add_product(scaled, of_weights[group], row, group)
            totals.put_back()
            return context.get_dummy_value()

        addresses = types.UniTuple(types.int64, rows)
        return types.void(*[types.int64] * 7, addresses), codegen

    return product


def _direct_product(rows):
    @intrinsic
    def product(
        typingctx,
        codes0,
        codes1,
        lane_stride,
        weight_scales,
        blocks,
        sums,
        scale_offset,
        correction_offset,
        first,
        activations,
    ):
        """The same, decoded in registers: for few activation rows.

        Args:
            typingctx: numba's.
            codes0: of the first group of eight rows, as in `decode_integers`.
            codes1: of the second group.
            lane_stride: as in `decode_integers`.
            weight_scales: as in `integer_product_1`.
            blocks: as in `integer_product_1`.
            sums: as in `integer_product_1`.
            scale_offset: as in `integer_product_1`.
            correction_offset: as in `integer_product_1`.
            first: as in `integer_product_1`.
            activations: as in `integer_product_1`.
        """

        def codegen(context, builder, signature, args):
            emit = Emitter(context, builder)
            codes0, codes1, lane_stride, weight_scales, blocks, sums, scale_offset, correction_offset, first, packed = (
                args
            )
            starts = cgutils.unpack_tuple(builder, packed, rows)
            totals = _Sums(emit, rows, sums)
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                block = builder.add(loop.index, first)
                four = builder.mul(block, ir.Constant(I64, 4))
                columns = builder.mul(block, ir.Constant(I64, BLOCK))
                packed_columns = builder.mul(loop.index, ir.Constant(I64, PACKED_BLOCK))
                x = [builder.add(start, columns) for start in starts]
                dots = []
                for start in starts:
                    at = builder.add(builder.add(start, correction_offset), four)
                    correction = builder.bitcast(emit.broadcast(emit.load(at, I32), INTS_8), SHORTS_16)
                    dots.append([correction] * GROUPS)
                of_groups = []
                for codes in (codes0, codes1):
                    prefetch_rows(emit, codes, lane_stride, loop.index, DIRECT_PIECE)
                    of_groups.append(quads(emit, builder.add(codes, packed_columns), lane_stride))
                # Both groups at once: they share the activations, and two chains of additions keep more units busy.
                for place, quad in enumerate(zip(*of_groups, strict=True)):
                    halves = [nibbles(emit, codes) for codes in quad]
                    for half in range(2):
                        w = [emit.twice_e2m1(codes[half], OFFSET) for codes in halves]
                        for row in range(rows):
                            word = emit.load(emit.plus(x[row], 16 * half + 4 * place), I32)
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
                        totals.add_product(builder.fmul(exact, of_row), of_weights[group], row, group)
            totals.put_back()
            return context.get_dummy_value()

        addresses = types.UniTuple(types.int64, rows)
        return types.void(*[types.int64] * 9, addresses), codegen

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
            totals = _Sums(emit, rows, sums)
            with cgutils.for_range(builder, columns, intp=I64) as loop:
                tile = builder.add(weights, builder.mul(loop.index, ir.Constant(I64, FLOAT_COLUMN_BYTES)))
                w = [emit.load(emit.plus(tile, group * VECTOR_BYTES), FLOATS_8) for group in range(GROUPS)]
                four = builder.mul(loop.index, ir.Constant(I64, 4))
                for row, start in enumerate(starts):
                    x = emit.broadcast(emit.load(builder.add(start, four), F32), FLOATS_8)
                    for group in range(GROUPS):
                        totals.add_product(x, w[group], row, group)
            totals.put_back()
            return context.get_dummy_value()

        addresses = types.UniTuple(types.int64, rows)
        return types.void(types.int64, types.int64, types.int64, addresses), codegen

    return product


integer_product_1, integer_product_2, integer_product_3 = (_integer_product(rows) for rows in (1, 2, 3))
direct_product_1, direct_product_2, direct_product_3 = (_direct_product(rows) for rows in (1, 2, 3))
float_product_1, float_product_2, float_product_4 = (_float_product(rows) for rows in (1, 2, 4))
