"""LLVM vector code that the tile kernels are built from: AVX2's integer dot products, or the same in plain LLVM.

numba gives no access to byte vectors, so the innermost loops are written as LLVM IR through an `intrinsic`. An
`Emitter` hides which instructions exist: with AVX2 it names them, elsewhere it spells the same arithmetic out in
portable vector IR, which LLVM turns into whatever the processor has. Integer results are the same bits either way.
"""

from llvmlite import ir

I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
F32 = ir.FloatType()
BYTES_8, BYTES_16, BYTES_32 = ir.VectorType(I8, 8), ir.VectorType(I8, 16), ir.VectorType(I8, 32)
SHORTS_16, SHORTS_32 = ir.VectorType(I16, 16), ir.VectorType(I16, 32)
INTS_8, LONGS_4, FLOATS_8 = ir.VectorType(I32, 8), ir.VectorType(I64, 4), ir.VectorType(F32, 8)

TWICE_E2M1 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""Twice the value of each e2m1 code: integers, which is what makes a block's dot product exact."""
OFFSET = 12
"""Added to weights, so that they are unsigned as AVX2's byte product wants one side; corrected once a block."""


def const(type_, *values):
    """Constant of a vector type: the values repeated until it is full."""
    return ir.Constant(type_, list(values) * (type_.count // len(values)))


class Emitter:
    """Emits vector operations at the builder's position.

    Args:
        context: numba's target context.
        builder: llvmlite's IRBuilder.
    """

    def __init__(self, context, builder):
        self.builder = builder
        features = context.codegen().magic_tuple()[2].split(",")
        self.avx2 = "+avx2" in features

    def intrinsic(self, name, result, *arguments):
        """Call an LLVM intrinsic."""
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(result, [value.type for value in arguments]), name)
        return self.builder.call(function, arguments)

    def load(self, address, type_):
        """Value at an address (i64); no alignment assumed."""
        return self.builder.load(self.builder.inttoptr(address, type_.as_pointer()), align=1)

    def store(self, value, address):
        """Write a value to an address (i64)."""
        self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer()), align=1)

    def plus(self, address, offset):
        """Address + a Python number."""
        return self.builder.add(address, ir.Constant(I64, offset)) if offset else address

    def shuffle(self, left, right, *lanes):
        """Lanes of two vectors."""
        return self.builder.shuffle_vector(left, right, const(ir.VectorType(I32, len(lanes)), *lanes))

    def broadcast(self, scalar, type_):
        """All lanes the same."""
        empty = ir.Constant(type_, ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.Constant(I32, 0))
        return self.shuffle(first, empty, *([0] * type_.count))

    def twice_e2m1(self, nibbles, offset):
        """Twice the values of e2m1 codes, plus `offset`. `nibbles`: <32 x i8>, 0 to 15 each."""
        b = self.builder
        if self.avx2:
            table = const(BYTES_32, *(value + offset for value in TWICE_E2M1))
            return self.intrinsic("llvm.x86.avx2.pshuf.b", BYTES_32, table, nibbles)

        def number(value):
            return const(BYTES_32, value)

        magnitude = b.and_(nibbles, number(7))
        doubled = b.add(magnitude, magnitude)
        small = b.select(b.icmp_unsigned("<", magnitude, number(4)), magnitude, b.sub(doubled, number(4)))
        large = b.sub(b.add(doubled, doubled), number(16))
        twice = b.select(b.icmp_unsigned("<", magnitude, number(6)), small, large)
        signed = b.select(b.icmp_unsigned("<", nibbles, number(8)), twice, b.neg(twice))
        return b.add(signed, number(offset))

    def pair_sums(self, unsigned, signed):
        """<16 x i16> sums of neighbouring products of unsigned by signed bytes; the caller keeps them in range."""
        b = self.builder
        if self.avx2:
            return self.intrinsic("llvm.x86.avx2.pmadd.ub.sw", SHORTS_16, unsigned, signed)
        products = b.mul(b.zext(unsigned, SHORTS_32), b.sext(signed, SHORTS_32))
        even = self.shuffle(products, products, *range(0, 32, 2))
        return b.add(even, self.shuffle(products, products, *range(1, 32, 2)))

    def neighbour_sums(self, shorts):
        """<8 x i32> sums of neighbouring 16-bit lanes."""
        b = self.builder
        if self.avx2:
            return self.intrinsic("llvm.x86.avx2.pmadd.wd", INTS_8, shorts, const(SHORTS_16, 1))
        wide = b.sext(shorts, ir.VectorType(I32, 16))
        even = self.shuffle(wide, wide, *range(0, 16, 2))
        return b.add(even, self.shuffle(wide, wide, *range(1, 16, 2)))

    def in_order(self, vector):
        """The same vector, computed here and now.

        LLVM would load all operands of an unrolled loop first, and then spill most of them. An empty piece of assembly
        through which the running sum goes keeps its order. Elsewhere than on AVX2 LLVM is left to itself.
        """
        if not self.avx2:
            return vector
        barrier = ir.InlineAsm(ir.FunctionType(vector.type, [vector.type]), "", "=x,0,~{memory}", side_effect=True)
        return self.builder.call(barrier, [vector])

    def prefetch(self, address):
        """Ask for the cache line of an address, which need not be mapped."""
        pointer = self.builder.inttoptr(address, I8.as_pointer())
        keep_in_all_levels, data = ir.Constant(I32, 3), ir.Constant(I32, 1)
        self.intrinsic("llvm.prefetch.p0", ir.VoidType(), pointer, ir.Constant(I32, 0), keep_in_all_levels, data)

    def multiply_add(self, left, right, addend):
        """Left * right + addend, fused where the processor can."""
        name = "llvm.fmuladd.v8f32"
        return self.intrinsic(name, FLOATS_8, left, right, addend)
