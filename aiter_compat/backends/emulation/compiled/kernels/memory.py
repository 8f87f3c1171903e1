"""Reads and writes at addresses, bit patterns, and the atomics that threads share tasks with; intrinsics for numba.

The layer kernel gets addresses instead of arrays: one specialisation then serves every dtype, and a call costs no
conversion of tensors.
"""

import sys

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from aiter_compat.backends.emulation.compiled.kernels.vectors import F32, I32, I64

_NUMBA_TYPES = {
    "uint8": (types.uint8, ir.IntType(8)),
    "int8": (types.int8, ir.IntType(8)),
    "uint16": (types.uint16, ir.IntType(16)),
    "int32": (types.int32, I32),
    "int64": (types.int64, I64),
    "float32": (types.float32, F32),
}


def _reader(name):
    numba_type, llvm_type = _NUMBA_TYPES[name]

    @intrinsic
    def read(typingctx, address):
        """The value at an address."""

        def codegen(context, builder, signature, args):
            return builder.load(builder.inttoptr(args[0], llvm_type.as_pointer()), align=1)

        return numba_type(types.int64), codegen

    return read


def _writer(name):
    numba_type, llvm_type = _NUMBA_TYPES[name]

    @intrinsic
    def write(typingctx, address, value):
        """Write a value, converted, to an address."""

        def codegen(context, builder, signature, args):
            builder.store(args[1], builder.inttoptr(args[0], llvm_type.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, numba_type), codegen

    return write


read_uint8, read_uint16, read_int32, read_int64, read_float32 = (
    _reader(name) for name in ("uint8", "uint16", "int32", "int64", "float32")
)
write_int8, write_uint16, write_int32, write_int64, write_float32 = (
    _writer(name) for name in ("int8", "uint16", "int32", "int64", "float32")
)


@intrinsic
def float_pointer(typingctx, address):
    """The address of fp32 numbers as `carray` takes it."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], F32.as_pointer())

    return types.CPointer(types.float32)(types.int64), codegen


@intrinsic
def in_use_until_here(typingctx, array):
    """Emits nothing; numba frees an array after its last use, and does not see the uses of its address."""

    def codegen(context, builder, signature, args):
        return context.get_dummy_value()

    return types.void(array), codegen


@intrinsic
def bits_of(typingctx, value):
    """The bit pattern of an fp32 number as int32."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], I32)

    return types.int32(types.float32), codegen


@intrinsic
def float_of(typingctx, bits):
    """The fp32 number of an int32 bit pattern."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], F32)

    return types.float32(types.int32), codegen


@intrinsic
def power_of_two(typingctx, shifted):
    """2^n in fp64, where `shifted` is n + 1.5 * 2^52: the last mantissa bits of such a number are n."""

    def codegen(context, builder, signature, args):
        biased = builder.add(builder.bitcast(args[0], I64), ir.Constant(I64, 1023))
        return builder.bitcast(builder.shl(biased, ir.Constant(I64, 52)), ir.DoubleType())

    return types.float64(types.float64), codegen


@intrinsic
def fetch_add(typingctx, address, amount):
    """Add to a shared int64; returns what it was before."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", builder.inttoptr(args[0], I64.as_pointer()), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def read_shared(typingctx, address):
    """A shared int64, with everything that was written before it was."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(builder.inttoptr(args[0], I64.as_pointer()), "acquire", 8)

    return types.int64(types.int64), codegen


@intrinsic
def out_of_line(typingctx):
    """Keep the function that calls this a function of its own: several copies would be compiled several times."""

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


def caller_of(*argument_types):
    """A call of a C function by its address: `call(address, tuple of arguments)`.

    What is called so is compiled, optimised and cached on its own, once, and not again inside every caller.
    """

    @intrinsic
    def call(typingctx, address, arguments):
        """Call; pointers are passed as addresses."""

        def codegen(context, builder, signature, args):
            values = cgutils.unpack_tuple(builder, args[1], len(argument_types))
            for place, numba_type in enumerate(argument_types):
                if isinstance(numba_type, types.CPointer):
                    values[place] = builder.inttoptr(values[place], context.get_value_type(numba_type))
            function_type = ir.FunctionType(ir.VoidType(), [value.type for value in values])
            builder.call(builder.inttoptr(args[0], function_type.as_pointer()), values)
            return context.get_dummy_value()

        passed = [types.int64 if isinstance(item, types.CPointer) else item for item in argument_types]
        return types.void(types.int64, types.Tuple(passed)), codegen

    return call


@intrinsic
def belongs_to(typingctx, digest):
    """Emits nothing; makes a digest of the sources part of the function that calls it, and of its cache entry."""

    def codegen(context, builder, signature, args):
        return context.get_dummy_value()

    return types.void(digest), codegen


_CAN_YIELD = sys.platform != "win32"


@intrinsic
def let_others_run(typingctx):
    """Give the processor away while waiting for another thread (POSIX; elsewhere the wait spins)."""

    def codegen(context, builder, signature, args):
        if _CAN_YIELD:
            module = builder.module
            function = module.globals.get("sched_yield") or ir.Function(module, ir.FunctionType(I32, []), "sched_yield")
            builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), codegen
