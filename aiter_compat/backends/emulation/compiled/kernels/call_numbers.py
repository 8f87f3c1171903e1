"""The numbers of a call from memory: an intrinsic for numba.

Two addresses say them all. Handed over one by one they would cost Python a tenth of a small layer's time, and every
function that is not inlined a hundred writes to the stack.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from aiter_compat.backends.emulation.compiled.kernels.vectors import I64
from aiter_compat.backends.emulation.compiled.layer_call import CALL_FIELDS, FLOATS, SHARED_WORDS, LayerCall

_CALL = types.NamedTuple(
    [types.float64 if name in FLOATS else types.int64 for name in LayerCall._fields],
    LayerCall,
)
_ADDRESSES = types.UniTuple(types.int64, 2)
_WORD = 8


@intrinsic
def read_call(typingctx, numbers):
    """The `LayerCall` that `CALL_NUMBERS` and `PLAN_NUMBERS` at two addresses say; what is not used is not read."""

    def codegen(context, builder, signature, args):
        call, plan = cgutils.unpack_tuple(builder, args[0], 2)
        first_of_call = builder.add(call, ir.Constant(I64, _WORD * SHARED_WORDS))
        values = []
        for place, name in enumerate(LayerCall._fields):
            start, word = (first_of_call, place) if place < CALL_FIELDS else (plan, place - CALL_FIELDS)
            type_ = ir.DoubleType() if name in FLOATS else I64
            address = builder.add(start, ir.Constant(I64, _WORD * word))
            values.append(builder.load(builder.inttoptr(address, type_.as_pointer())))
        return context.make_tuple(builder, signature.return_type, values)

    return _CALL(_ADDRESSES), codegen
