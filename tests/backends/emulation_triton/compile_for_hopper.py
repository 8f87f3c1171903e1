"""Compile one of the products for compute capability 9.0 and print its PTX. Needs no GPU."""

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from aiter_compat.backends.emulation.triton_path.kernels.first_product import first_product
from aiter_compat.backends.emulation.triton_path.kernels.second_product import second_product

ROWS, TOKENS, WARPS = 64, 16, 4
_SIZES = {"ROWS": ROWS, "TOKENS": TOKENS, "LEAST": 16, "STAGES": 2, "ALIGNED": True, "WARPS": WARPS, "BIAS": True}
_FIRST = {
    "ACTIVATION": "swiglu",
    "GATED": True,
    "INTERLEAVED": False,
    "LINEAR_BETA": False,
    "WEIGHTED": "no",
    "RULE": "nearest",
    "SHORT": "bf16",
}
_BYTES = ("weight_scales", "apart_rows", "inner_apart", "codes")
_FLOATS = ("row_scales", "bias", "routing_weights", "code_scales", "results")
_NUMBERS = ("bases", "tile_expert", "tile_row", "tile_end", "slot_of_row")
_FLOAT_SCALARS = ("alpha", "beta", "limit", "linear_beta", "amax_floor")


def main() -> None:
    kernel = {"first_product": first_product, "second_product": second_product}[sys.argv[1]]
    constants = {**_SIZES, **(_FIRST if kernel is first_product else {"WEIGHTED": True})}
    layout = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=2)
    types = {
        "weights": f"tensordesc<u8[{ROWS // 2}, 128],{layout!r}>",
        "rows": f"tensordesc<fp8e5[{TOKENS}, 128],{layout!r}>",
        **dict.fromkeys(_BYTES, "*u8"),
        **dict.fromkeys(_FLOATS, "*fp32"),
        **dict.fromkeys(_NUMBERS, "*i32"),
        **dict.fromkeys(_FLOAT_SCALARS, "fp32"),
        **dict.fromkeys(constants, "constexpr"),
    }
    signature = {name: types.get(name, "i32") for name in kernel.arg_names}
    source = GluonASTSource(kernel, signature, constants, {})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": WARPS, "maxnreg": 64})
    sys.stdout.write(compiled.asm["ptx"])


if __name__ == "__main__":
    main()
