"""LLVM vector code that the tile kernels are built from: the processor's integer dot products, or the same spelt out.

numba gives no access to byte vectors, so the innermost loops are written as LLVM IR through an `intrinsic`. An
`Emitter` hides how wide vectors are and which instructions exist: it names those of AVX-512 or AVX2 and elsewhere
spells the same arithmetic out in portable vector IR, which LLVM turns into whatever the processor has. Integer results
are the same bits in every form.
"""

import llvmlite.binding
from llvmlite import ir

from aiter_compat.backends.emulation.compiled.kernels.instruction_sets import instruction_set

I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
F32 = ir.FloatType()
BYTES_8, BYTES_16 = ir.VectorType(I8, 8), ir.VectorType(I8, 16)
SHORTS_16 = ir.VectorType(I16, 16)

TWICE_E2M1 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""Twice the value of each e2m1 code: integers, which is what makes a block's dot product exact."""
OFFSET = 12
"""Added to weights, so that they are unsigned as x86's byte products want one side; corrected once a block."""
_BYTE_OPERANDS_SINCE = 22  # the LLVM whose intrinsic for VNNI takes vectors of bytes; older ones take vectors of i32


def const(type_, *values):
    """Constant of a vector type: the values repeated until it is full."""
    return ir.Constant(type_, list(values) * (type_.count // len(values)))


def instructions_of(context):
    """What the processor has that a numba target context compiles for."""
    return instruction_set(context.codegen().magic_tuple()[2].split(","))


class Emitter:
    """Emits vector operations at the builder's position.

    Args:
        context: numba's target context.
        builder: llvmlite's IRBuilder.

    Attributes:
        instructions: which form is emitted.
        bytes, shorts, ints, longs, floats: LLVM types of a whole vector.
    """

    def __init__(self, context, builder):
        self.builder = builder
        self.instructions = instructions_of(context)
        size = self.instructions.vector_bytes
        self.bytes, self.shorts = ir.VectorType(I8, size), ir.VectorType(I16, size // 2)
        self.ints, self.longs = ir.VectorType(I32, size // 4), ir.VectorType(I64, size // 8)
        self.floats = ir.VectorType(F32, size // 4)

    def intrinsic(self, name, result, *arguments):
        """Call an LLVM intrinsic."""
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(result, [value.type for value in arguments]), name)
        return self.builder.call(function, arguments)

    def _instruction(self, names, result, *arguments):
        """Call the intrinsic of an instruction; names: those for 32 and for 64 bytes."""
        return self.intrinsic(names[self.instructions.vector_bytes // 64], result, *arguments)

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

    def twofold(self, half):
        """A vector of 16 bytes twice, in one of 32."""
        return self.shuffle(half, half, *range(half.type.count), *range(half.type.count))

    def nibbles(self, packed):
        """What `twice_e2m1` takes for the codes in the low and in the high half of each byte."""
        b = self.builder
        shifted = b.bitcast(b.lshr(b.bitcast(packed, self.ints), const(self.ints, 4)), self.bytes)
        if self.instructions.wide_lookup:
            return packed, shifted
        mask = const(self.bytes, 0x0F)
        return b.and_(packed, mask), b.and_(shifted, mask)

    def twice_e2m1(self, nibbles, offset):
        """Twice the values of e2m1 codes, plus `offset`, as bytes. `nibbles`: of `nibbles`."""
        b = self.builder
        table = const(self.bytes, *(value + offset for value in TWICE_E2M1))
        if self.instructions.wide_lookup:
            return self.intrinsic("llvm.x86.avx512.permvar.qi.512", self.bytes, table, nibbles)
        if self.instructions.named:
            names = ("llvm.x86.avx2.pshuf.b", "llvm.x86.avx512.pshuf.b.512")
            return self._instruction(names, self.bytes, table, nibbles)

        def number(value):
            return const(self.bytes, value)

        magnitude = b.and_(nibbles, number(7))
        doubled = b.add(magnitude, magnitude)
        small = b.select(b.icmp_unsigned("<", magnitude, number(4)), magnitude, b.sub(doubled, number(4)))
        large = b.sub(b.add(doubled, doubled), number(16))
        twice = b.select(b.icmp_unsigned("<", magnitude, number(6)), small, large)
        signed = b.select(b.icmp_unsigned("<", nibbles, number(8)), twice, b.neg(twice))
        return b.add(signed, number(offset))

    def twice_e2m1_words(self, nibbles):
        """`twice_e2m1` without offset, four bytes in each lane of 32 bits."""
        return self.builder.bitcast(self.twice_e2m1(nibbles, 0), self.ints)

    def value_of_byte(self, words, byte, scales):
        """One byte (0 the lowest) of each lane of 32 bits as a signed number, times fp32 scales."""
        b = self.builder
        top = b.shl(words, const(self.ints, 24 - 8 * byte)) if byte < 3 else words
        return b.fmul(b.sitofp(b.ashr(top, const(self.ints, 24)), self.floats), scales)

    def correction(self, value):
        """An i32 within +-32767 as `start_dots` reads it."""
        return value if self.instructions.sums_of_four else self.builder.and_(value, ir.Constant(I32, 0xFFFF))

    def start_dots(self, correction):
        """Dot products that hold nothing but a correction (i32) yet, one in each lane of four bytes."""
        spread = self.broadcast(correction, self.ints)
        return spread if self.instructions.sums_of_four else self.builder.bitcast(spread, self.shorts)

    def grow_dots(self, dots, unsigned, signed):
        """Add the products of four unsigned by four signed bytes in each lane; the caller keeps sums within 16 bits.

        Args:
            dots: from `start_dots` or here.
            unsigned: vector of bytes.
            signed: i32, four bytes that are the same for all lanes.
        """
        spread = self.broadcast(signed, self.ints)
        if not self.instructions.sums_of_four:
            grown = self.builder.add(dots, self.pair_sums(unsigned, self.builder.bitcast(spread, self.bytes)))
        elif llvmlite.binding.llvm_version_info[0] >= _BYTE_OPERANDS_SINCE:
            spread = self.builder.bitcast(spread, self.bytes)
            grown = self.intrinsic("llvm.x86.avx512.vpdpbusd.512", self.ints, dots, unsigned, spread)
        else:
            unsigned = self.builder.bitcast(unsigned, self.ints)
            grown = self.intrinsic("llvm.x86.avx512.vpdpbusd.512", self.ints, dots, unsigned, spread)
        return self.in_order(grown)

    def finish_dots(self, dots):
        """The dot products as fp32, exact."""
        if not self.instructions.sums_of_four:
            dots = self._neighbour_sums(dots)
        return self.builder.sitofp(dots, self.floats)

    def pair_sums(self, unsigned, signed):
        """16-bit sums of neighbouring products of unsigned by signed bytes."""
        b = self.builder
        if self.instructions.named:
            names = ("llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx512.pmaddubs.w.512")
            return self._instruction(names, self.shorts, unsigned, signed)
        wide = ir.VectorType(I16, self.bytes.count)
        return self._sums_of_two(b.mul(b.zext(unsigned, wide), b.sext(signed, wide)))

    def _neighbour_sums(self, shorts):
        """32-bit sums of neighbouring 16-bit lanes."""
        if self.instructions.named:
            names = ("llvm.x86.avx2.pmadd.wd", "llvm.x86.avx512.pmaddw.d.512")
            return self._instruction(names, self.ints, shorts, const(self.shorts, 1))
        return self._sums_of_two(self.builder.sext(shorts, ir.VectorType(I32, shorts.type.count)))

    def _sums_of_two(self, vector):
        even, odd = (self.shuffle(vector, vector, *range(first, vector.type.count, 2)) for first in (0, 1))
        return self.builder.add(even, odd)

    def in_order(self, vector):
        """The same vector, computed here and now.

        LLVM would load all operands of an unrolled loop first, and then spill most of them. An empty piece of assembly
        through which the running sum goes keeps its order. In portable code LLVM is left to itself.
        """
        if not self.instructions.named:
            return vector
        constraint = "v" if self.instructions.vector_bytes == 64 else "x"
        type_ = ir.FunctionType(vector.type, [vector.type])
        barrier = ir.InlineAsm(type_, "", f"={constraint},0,~{{memory}}", side_effect=True)
        return self.builder.call(barrier, [vector])

    def opaque(self, address):
        """The same address, of which LLVM knows nothing.

        Of a row that others lie behind at constant distances it would otherwise make a pointer for each row, more than
        there are registers.
        """
        type_ = ir.FunctionType(I64, [I64])
        return self.builder.call(ir.InlineAsm(type_, "", "=r,0"), [address])

    def prefetch(self, address):
        """Ask for the cache line of an address, which need not be mapped."""
        pointer = self.builder.inttoptr(address, I8.as_pointer())
        keep_in_all_levels, data = ir.Constant(I32, 3), ir.Constant(I32, 1)
        self.intrinsic("llvm.prefetch.p0", ir.VoidType(), pointer, ir.Constant(I32, 0), keep_in_all_levels, data)

    def multiply_add(self, left, right, addend):
        """Left * right + addend of vectors of fp32, fused where the processor can."""
        return self.intrinsic(f"llvm.fmuladd.v{self.floats.count}f32", self.floats, left, right, addend)
