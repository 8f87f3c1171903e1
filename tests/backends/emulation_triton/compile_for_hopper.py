"""Compile one of the products for compute capability 9.0 and print its PTX. Needs no GPU."""

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from aiter_compat.backends.emulation.triton_path.kernels.first_product import first_product
from aiter_compat.backends.emulation.triton_path.kernels.second_product import second_product
from aiter_compat.backends.emulation.triton_path.kernels.wide_products import wide_first_product, wide_second_product

ROWS, TOKENS, WARPS = 64, 16, 4
_SIZES = {"ROWS": ROWS, "TOKENS": TOKENS, "LEAST": 16, "STAGES": 2, "WARPS": WARPS, "BIAS": True}
_ACTIVATION = {
    "ACTIVATION": "swiglu",
    "GATED": True,
    "INTERLEAVED": False,
    "LINEAR_BETA": False,
    "WEIGHTED": "no",
    "RULE": "nearest",
    "SHORT": "bf16",
}
_CODES = (
    "u8",
    gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=2),
    "fp8e5",
    gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=2),
)
_WORDS = (
    "i32",
    gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=32, rank=2),
    "bf16",
    gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2),
)
# The kernel, what it is compiled for beside _SIZES, dtypes and layouts of its operands, columns of their boxes.
_KERNELS = {
    "first_product": (
        first_product,
        {"OVERLAP": True, "HALF_LAST": False, "SCALES": "words", **_ACTIVATION},
        _CODES,
        (128, 128),
    ),
    "first_product_in_halves": (
        first_product,
        {"TOKENS": 128, "LEAST": 128, "OVERLAP": True, "HALF_LAST": False, "SCALES": "fetched", **_ACTIVATION},
        _CODES,
        (128, 128),
    ),
    "second_product": (
        second_product,
        {"OVERLAP": False, "HALF_LAST": False, "RESIDENT": 0, "SCALES": "fetched", "WEIGHTED": True, "BOXED": False},
        _CODES,
        (128, 128),
    ),
    "second_product_of_few_columns": (
        second_product,
        {"OVERLAP": False, "HALF_LAST": True, "RESIDENT": 2, "SCALES": "copied", "WEIGHTED": True, "BOXED": True},
        _CODES,
        (128, 128),
    ),
    "wide_first_product": (
        wide_first_product,
        {"STEP": 256, "ALIGNED": True, "ROUNDING": "mxfp8", **_ACTIVATION},
        _WORDS,
        (32, 64),
    ),
    "wide_second_product": (wide_second_product, {"STEP": 256, "ALIGNED": True, "WEIGHTED": True}, _WORDS, (32, 64)),
}
_BYTES = ("weight_scales", "apart_rows", "inner_apart", "codes")
_FLOATS = ("result_boxes", "row_scales", "bias", "routing_weights", "code_scales", "results")
_NUMBERS = ("bases", "tile_expert", "tile_row", "tile_end", "slot_of_row")
_FLOAT_SCALARS = ("alpha", "beta", "limit", "linear_beta", "amax_floor")


def main() -> None:
    kernel, options, (weights, weight_layout, rows, row_layout), (weight_box, row_box) = _KERNELS[sys.argv[1]]
    constants = {**_SIZES, **options}
    types = {
        "weights": f"tensordesc<{weights}[{ROWS // 2}, {weight_box}],{weight_layout!r}>",
        "rows": f"tensordesc<{rows}[{constants['TOKENS']}, {row_box}],{row_layout!r}>",
        **dict.fromkeys(_BYTES, "*u8"),
        **dict.fromkeys(_FLOATS, "*fp32"),
        **dict.fromkeys(_NUMBERS, "*i32"),
        **dict.fromkeys(_FLOAT_SCALARS, "fp32"),
        **dict.fromkeys(constants, "constexpr"),
    }
    if kernel is wide_first_product:
        types["results"] = "*bf16"
    if kernel is second_product:
        paired = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=4)
        types["weights"] = f"tensordesc<u8[{ROWS // 16}, 2, 8, 128],{paired!r}>"
    if constants.get("BOXED"):
        leaving = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=32, rank=3)
        types["result_boxes"] = f"tensordesc<fp32[{ROWS // 32}, {constants['TOKENS']}, 32],{leaving!r}>"
    if constants.get("SCALES") == "fetched":
        box = [ROWS // 16, 2, 8, 16] if kernel is second_product else [ROWS // 2, 16]
        unswizzled = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=8, rank=len(box))
        types["weight_scales"] = f"tensordesc<u8{box},{unswizzled!r}>"
    signature = {name: types.get(name, "i32") for name in kernel.arg_names}
    source = GluonASTSource(kernel, signature, constants, {})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": WARPS, "maxnreg": 64})
    sys.stdout.write(compiled.asm["ptx"])


if __name__ == "__main__":
    main()
