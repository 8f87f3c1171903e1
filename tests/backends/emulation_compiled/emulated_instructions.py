"""AVX-512 instructions spelt out, so that kernels written for them run on any processor.

What they prove is everything around the instructions: which bytes lie where, in which order sums are made, how rows are
counted. That the instructions themselves do what is spelt out here, tests on a processor with AVX-512 show.
"""

from llvmlite import ir

from aiter_compat.backends.emulation.compiled.kernels import vectors
from aiter_compat.backends.emulation.compiled.kernels.instruction_sets import instruction_set
from aiter_compat.backends.emulation.compiled.kernels.vectors import Emitter, const


def emulate(features: list[str]) -> None:
    """Have the kernels, which must not have been imported yet, be written for other features than the processor's."""
    vectors.instruction_set = lambda _: instruction_set(features)
    really = Emitter.intrinsic

    def intrinsic(emit, name, result, *arguments):
        spelt_out = _SPELT_OUT.get(name)
        return spelt_out(emit, *arguments) if spelt_out else really(emit, name, result, *arguments)

    Emitter.intrinsic = intrinsic
    Emitter.in_order = lambda emit, vector: vector  # there is no register of that width to keep it in


def _lookup(emit, table, index, outside):
    """Bytes of a table that repeats itself every sixteen; `outside`: mask of the index bits that make a zero."""
    b = emit.builder
    values = [item.constant for item in table.constant]
    assert values == values[:16] * 4
    last = b.and_(index, const(emit.bytes, 15))
    result = const(emit.bytes, 0)
    for place, value in enumerate(values[:16]):
        result = b.select(b.icmp_unsigned("==", last, const(emit.bytes, place)), const(emit.bytes, value), result)
    kept = b.icmp_unsigned("==", b.and_(index, const(emit.bytes, outside)), const(emit.bytes, 0))
    return b.select(kept, result, const(emit.bytes, 0))


def _field(emit, vector, place, bits, signed):
    """The field number `place` of each lane, widened to the lane."""
    b, lane = emit.builder, vector.type.element.width
    top = b.shl(vector, const(vector.type, lane - bits * (place + 1)))
    return (b.ashr if signed else b.lshr)(top, const(vector.type, lane - bits))


def _sum_of_products(emit, left, right, type_, bits, left_signed):
    """Sums over the fields of each lane of `type_`."""
    b = emit.builder
    left, right = b.bitcast(left, type_), b.bitcast(right, type_)
    total = const(type_, 0)
    for place in range(type_.element.width // bits):
        product = b.mul(_field(emit, left, place, bits, left_signed), _field(emit, right, place, bits, signed=True))
        total = b.add(total, product)
    return total


def _dots_of_four(emit, dots, unsigned, signed):
    return emit.builder.add(dots, _sum_of_products(emit, unsigned, signed, emit.ints, 8, left_signed=False))


def _dots_of_two(emit, unsigned, signed):
    return _sum_of_products(emit, unsigned, signed, emit.shorts, 8, left_signed=False)


def _sums_of_two(emit, left, right):
    return _sum_of_products(emit, left, right, ir.VectorType(ir.IntType(32), 16), 16, left_signed=True)


_SPELT_OUT = {
    "llvm.x86.avx512.permvar.qi.512": lambda emit, table, index: _lookup(emit, table, index, 0),
    "llvm.x86.avx512.pshuf.b.512": lambda emit, table, index: _lookup(emit, table, index, 0x80),
    "llvm.x86.avx512.vpdpbusd.512": _dots_of_four,
    "llvm.x86.avx512.pmaddubs.w.512": _dots_of_two,
    "llvm.x86.avx512.pmaddw.d.512": _sums_of_two,
}
