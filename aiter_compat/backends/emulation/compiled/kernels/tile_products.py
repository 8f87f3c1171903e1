"""A tile of sixteen rows times some activation rows; intrinsics for numba.

The integer form multiplies bytes: both operands are twice-e2m1 integers, the sum over a block of 32 columns is exact in
16 bits, and one multiply-add in fp32 brings in the two scales. The float form is a plain fp32 product. Sums run over
the columns in one fixed order, so the bits depend on neither the number of rows taken at once, nor the width of the
vectors, nor the threads.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from aiter_compat.backends.emulation.compiled.kernels.instruction_sets import TILE_BYTES
from aiter_compat.backends.emulation.compiled.kernels.tile_decoding import (
    BLOCK,
    DIRECT_PIECE,
    FLOAT_COLUMN_BYTES,
    INTEGER_BLOCK_BYTES,
    QUADS,
    SCALE_BLOCK_BYTES,
    block_quads,
    block_row_pairs,
    columns_of_quad,
    groups_by_vector,
    halved,
    one_lane_a_row,
)
from aiter_compat.backends.emulation.compiled.kernels.vectors import (
    BYTES_16,
    F32,
    I32,
    I64,
    OFFSET,
    Emitter,
    const,
)

SUM_BYTES = TILE_BYTES
"""fp32 sums of one activation row against a tile."""
_ADDRESS_BYTES = 8
_ROW_BLOCK_BYTES = 4 * BLOCK


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
                cgutils.alloca_once_value(emit.builder, emit.load(self._place(row, part), emit.floats))
                for part in range(emit.instructions.vectors)
            ]
            for row in range(rows)
        ]

    def _place(self, row, part):
        return self.emit.plus(self.address, row * SUM_BYTES + part * self.emit.instructions.vector_bytes)

    def add_product(self, left, right, row, part):
        slot = self.slots[row][part]
        builder = self.emit.builder
        builder.store(self.emit.multiply_add(left, right, builder.load(slot)), slot)

    def keep_order(self):
        """Compute what was added so far before anything that follows; see `Emitter.in_order`."""
        for parts in self.slots:
            for slot in parts:
                self.emit.builder.store(self.emit.in_order(self.emit.builder.load(slot)), slot)

    def put_back(self):
        for row, parts in enumerate(self.slots):
            for part, slot in enumerate(parts):
                self.emit.store(self.emit.builder.load(slot), self._place(row, part))


class _BlockDots:
    """Exact dot products of one block of some activation rows with the rows of a tile.

    Args:
        emit: the emitter.
        starts: addresses of the activation rows.
        scale_offset: bytes from the start of an activation row to its fp32 scales.
        correction_offset: the same to its corrections.
        block: number of the block in the activation rows.
    """

    def __init__(self, emit, starts, scale_offset, correction_offset, block):
        self.emit = emit
        builder = emit.builder
        four = builder.mul(block, ir.Constant(I64, 4))
        columns = builder.mul(block, ir.Constant(I64, BLOCK))
        self._x = [builder.add(start, columns) for start in starts]
        self._scales = [builder.add(builder.add(start, scale_offset), four) for start in starts]
        self._dots = []
        for start in starts:
            correction = emit.load(builder.add(builder.add(start, correction_offset), four), I32)
            self._dots.append([emit.start_dots(correction)] * emit.instructions.vectors)

    def add_quad(self, weights, quad):
        """Add the products of a quad's columns; weights: its vectors of bytes, plus OFFSET each."""
        emit = self.emit
        for x, dots in zip(self._x, self._dots, strict=True):
            word = emit.load(emit.plus(x, 4 * quad), I32)
            for part, vector in enumerate(weights):
                dots[part] = emit.grow_dots(dots[part], vector, word)

    def add_rows(self, of_group):
        """Add the products of all columns with rows as they lie, for one activation row.

        Only the sums are turned, to one lane a row, which takes six shuffles a group in place of eight, and activations
        are read in two pieces in place of eight. Several activation rows share turned codes, where each would have
        sums to turn.

        Args:
            of_group: for each group of rows the vectors of `block_row_pairs`.
        """
        emit = self.emit
        low, high = (emit.twofold(emit.load(emit.plus(self._x[0], half), BYTES_16)) for half in (0, BLOCK // 2))
        for part, pairs in enumerate(of_group):
            sums = []
            for pair in pairs:
                codes = [emit.twice_e2m1(nibbles, OFFSET) for nibbles in emit.nibbles(pair)]
                sums.append(emit.builder.add(emit.pair_sums(codes[0], low), emit.pair_sums(codes[1], high)))
            self._dots[0][part] = emit.builder.add(self._dots[0][part], one_lane_a_row(emit, sums))

    def add_to(self, totals, weight_scales):
        """Scale the dot products and add them; weight_scales: vectors of fp32."""
        emit = self.emit
        for row, (at, dots) in enumerate(zip(self._scales, self._dots, strict=True)):
            of_row = emit.broadcast(emit.load(at, F32), emit.floats)
            for part, scale in enumerate(weight_scales):
                totals.add_product(emit.builder.fmul(emit.finish_dots(dots[part]), of_row), scale, row, part)


def _vectors_at(emit, address, type_):
    """The vectors of 64 bytes."""
    size = emit.instructions.vector_bytes
    return [emit.load(emit.plus(address, part * size), type_) for part in range(emit.instructions.vectors)]


def _halves_of_quads(emit, codes0, codes1, lane_stride, block):
    """The quads of a block in registers, each with its place: codes of low halves, then of high ones, by vector.

    All of the tile at once: its rows share the activations, and two chains of additions, where a tile is two vectors,
    keep more units busy than one.
    """
    of_vectors = [
        block_quads(emit, groups, lane_stride, block, DIRECT_PIECE) for groups in groups_by_vector(emit, codes0, codes1)
    ]
    for place, quad in enumerate(zip(*of_vectors, strict=True)):
        yield place, list(zip(*(emit.nibbles(codes) for codes in quad), strict=True))


def _by_rows(builder, sizes, rows, count, sums, add):
    """Take `count` activation rows in as few steps as there are sizes for.

    Args:
        builder: the builder.
        sizes: how many rows a step may take, most first, 1 last.
        rows: address of int64 [count], addresses of activation rows.
        count: how many.
        sums: address of fp32 [count][16].
        add: emits a step; its arguments are the addresses of its rows, and of the first one's sums.
    """
    done, left = ir.Constant(I64, 0), count
    for size in sizes:
        steps = builder.udiv(left, ir.Constant(I64, size))
        with cgutils.for_range(builder, steps, intp=I64) as loop:
            row = builder.add(done, builder.mul(loop.index, ir.Constant(I64, size)))
            at = builder.add(rows, builder.mul(row, ir.Constant(I64, _ADDRESS_BYTES)))
            pointers = [builder.add(at, ir.Constant(I64, _ADDRESS_BYTES * place)) for place in range(size)]
            starts = [builder.load(builder.inttoptr(pointer, I64.as_pointer())) for pointer in pointers]
            add(starts, builder.add(sums, builder.mul(row, ir.Constant(I64, SUM_BYTES))))
        taken = builder.mul(steps, ir.Constant(I64, size))
        done, left = builder.add(done, taken), builder.sub(left, taken)


@intrinsic
def clear_sums(typingctx, sums, rows):
    """Set fp32 [rows][16] to zero, by vectors as the products read them: shorter writes would delay those reads."""

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        size = emit.instructions.vector_bytes
        with cgutils.for_range(builder, args[1], intp=I64) as loop:
            row = builder.add(args[0], builder.mul(loop.index, ir.Constant(I64, SUM_BYTES)))
            for part in range(emit.instructions.vectors):
                emit.store(const(emit.floats, 0.0), emit.plus(row, part * size))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def add_integer_products(
    typingctx, weights, weight_scales, blocks, sums, scale_offset, correction_offset, first, rows, count
):
    """Add the products of `blocks` blocks of integers to the sums.

    Args:
        typingctx: numba's.
        weights: address of the tile as `decode_integers` leaves it.
        weight_scales: address of fp32 [blocks][16] scales.
        blocks: how many.
        sums: address of fp32 [count][16].
        scale_offset: bytes from the start of an activation row to its fp32 scales.
        correction_offset: the same to its corrections.
        first: number of the first block in the activation rows.
        rows: address of int64 [count], addresses of activation rows.
        count: how many.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        weights, weight_scales, blocks, sums, scale_offset, correction_offset, first, rows, count = args

        def add(starts, sums):
            totals = _Sums(emit, len(starts), sums)
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                tile = builder.add(weights, builder.mul(loop.index, ir.Constant(I64, INTEGER_BLOCK_BYTES)))
                block = builder.add(loop.index, first)
                dots = _BlockDots(emit, starts, scale_offset, correction_offset, block)
                for quad in range(QUADS):
                    dots.add_quad(_vectors_at(emit, emit.plus(tile, quad * TILE_BYTES), emit.bytes), quad)
                scales = builder.add(weight_scales, builder.mul(loop.index, ir.Constant(I64, SCALE_BLOCK_BYTES)))
                dots.add_to(totals, _vectors_at(emit, scales, emit.floats))
            totals.put_back()

        _by_rows(builder, emit.instructions.integer_rows, rows, count, sums, add)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), codegen


@intrinsic
def add_direct_products(
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
    rows,
    count,
):
    """The same, decoded in registers: for few activation rows.

    Args:
        typingctx: numba's.
        codes0: as in `decode_integers`.
        codes1: as in `decode_integers`.
        lane_stride: as in `decode_integers`.
        weight_scales: as in `add_integer_products`.
        blocks: as in `add_integer_products`.
        sums: as in `add_integer_products`.
        scale_offset: as in `add_integer_products`.
        correction_offset: as in `add_integer_products`.
        first: as in `add_integer_products`.
        rows: as in `add_integer_products`.
        count: as in `add_integer_products`; no more than one step takes, or weights are decoded once a step.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        codes0, codes1, lane_stride, weight_scales, blocks, sums, scale_offset, correction_offset, first = args[:9]
        rows, count = args[9:]

        def add(starts, sums):
            totals = _Sums(emit, len(starts), sums)
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                block = builder.add(loop.index, first)
                dots = _BlockDots(emit, starts, scale_offset, correction_offset, block)
                if len(starts) == 1 and emit.instructions.rows_as_they_lie:
                    groups = (codes0, codes1)
                    dots.add_rows([block_row_pairs(emit, at, lane_stride, loop.index, DIRECT_PIECE) for at in groups])
                else:
                    for place, halves in _halves_of_quads(emit, codes0, codes1, lane_stride, loop.index):
                        for half, codes in enumerate(halves):
                            dots.add_quad([emit.twice_e2m1(nibbles, OFFSET) for nibbles in codes], 4 * half + place)
                scales = builder.add(weight_scales, builder.mul(loop.index, ir.Constant(I64, SCALE_BLOCK_BYTES)))
                dots.add_to(totals, _vectors_at(emit, scales, emit.floats))
            totals.put_back()

        _by_rows(builder, emit.instructions.integer_rows, rows, count, sums, add)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 11), codegen


@intrinsic
def add_direct_float_products(
    typingctx, codes0, codes1, lane_stride, weight_scales, blocks, sums, row_offset, rows, count
):
    """`add_float_products` with weights decoded in registers: for few activation rows. The same bits.

    Args:
        typingctx: numba's.
        codes0: as in `decode_floats`.
        codes1: as in `decode_floats`.
        lane_stride: as in `decode_floats`.
        weight_scales: address of fp32 [blocks][16] scales.
        blocks: how many blocks of 32 columns.
        sums: as in `add_float_products`.
        row_offset: as in `add_float_products`.
        rows: as in `add_float_products`.
        count: as in `add_direct_products`.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        codes0, codes1, lane_stride, weight_scales, blocks, sums, row_offset, rows, count = args

        def add(starts, sums):
            totals = _Sums(emit, len(starts), sums)
            firsts = [builder.add(start, row_offset) for start in starts]
            with cgutils.for_range(builder, blocks, intp=I64) as loop:
                at = builder.add(weight_scales, builder.mul(loop.index, ir.Constant(I64, SCALE_BLOCK_BYTES)))
                scales = [halved(emit, scale) for scale in _vectors_at(emit, at, emit.floats)]
                columns = builder.mul(loop.index, ir.Constant(I64, _ROW_BLOCK_BYTES))
                of_block = [builder.add(first, columns) for first in firsts]
                for place, halves in _halves_of_quads(emit, codes0, codes1, lane_stride, loop.index):
                    words = [[emit.twice_e2m1_words(nibbles) for nibbles in codes] for codes in halves]
                    for column, byte, half in columns_of_quad(place):
                        values = [
                            emit.value_of_byte(word, byte, scale)
                            for word, scale in zip(words[half], scales, strict=True)
                        ]
                        for row, address in enumerate(of_block):
                            x = emit.broadcast(emit.load(emit.plus(address, 4 * column), F32), emit.floats)
                            for part, value in enumerate(values):
                                totals.add_product(x, value, row, part)
                    totals.keep_order()
            totals.put_back()

        _by_rows(builder, emit.instructions.integer_rows, rows, count, sums, add)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), codegen


@intrinsic
def add_float_products(typingctx, weights, columns, sums, row_offset, rows, count):
    """Add the products of `columns` columns of fp32 to the sums.

    Args:
        typingctx: numba's.
        weights: address of the tile as `decode_floats` leaves it.
        columns: how many.
        sums: address of fp32 [count][16].
        row_offset: bytes from the start of an activation row to the first column.
        rows: address of int64 [count], addresses of fp32 activation rows.
        count: how many.
    """

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder)
        weights, columns, sums, row_offset, rows, count = args

        def add(starts, sums):
            totals = _Sums(emit, len(starts), sums)
            firsts = [builder.add(start, row_offset) for start in starts]
            with cgutils.for_range(builder, columns, intp=I64) as loop:
                tile = builder.add(weights, builder.mul(loop.index, ir.Constant(I64, FLOAT_COLUMN_BYTES)))
                w = _vectors_at(emit, tile, emit.floats)
                four = builder.mul(loop.index, ir.Constant(I64, 4))
                for row, first in enumerate(firsts):
                    x = emit.broadcast(emit.load(builder.add(first, four), F32), emit.floats)
                    for part, vector in enumerate(w):
                        totals.add_product(x, vector, row, part)
            totals.put_back()

        _by_rows(builder, emit.instructions.float_rows, rows, count, sums, add)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), codegen
