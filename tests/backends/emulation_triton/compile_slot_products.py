"""Compile the products of the slots form for a GPU that need not be there. Prints assembly and shared memory as JSON,
takes the target as JSON, such as ["cuda", 90].
"""

import json
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from aiter_compat.backends.emulation.triton_path.kernels.slot_products import slot_first_product, slot_second_product
from aiter_compat.backends.emulation.triton_path.tile_choice import slot_tiles_for

_LANES = {"cuda": 32, "hip": 64}
_ASSEMBLY = {"cuda": "ptx", "hip": "amdgcn"}
_POINTERS = {
    **dict.fromkeys(("code_bytes", "inner_bytes", "scales"), "*u8"),
    **dict.fromkeys(("codes", "inner_codes", "weights", "topk_ids", "local_of_global", "local_tokens"), "*i32"),
    **dict.fromkeys(("topk_weights", "bias"), "*fp32"),
    "out": "*bf16",
}
_FLOATS = ("alpha", "beta", "limit", "linear_beta", "amax_floor")
_UNALIGNED = ("count", "global_experts", "experts")
_COMMON = {"CHOICES": 4, "STEPS": 3, "MASKED": True, "SKIP_ZERO": True, "LIMITED": True, "BIAS": True}
_ACTIVATION = {
    "ACTIVATION": "swiglu",
    "GATED": True,
    "INTERLEAVED": False,
    "LINEAR_BETA": False,
    "WEIGHTED": "no",
    "RULE": "even",
    "SHORT": "bf16",
}


def compiled(kernel, constants, warps, target):
    types = {**_POINTERS, **dict.fromkeys(_FLOATS, "fp32"), **dict.fromkeys(constants, "constexpr")}
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        {name: types.get(name, "i32") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        {
            (place,): [["tt.divisibility", 16]]
            for place, name in enumerate(names)
            if name not in (*constants, *_FLOATS, *_UNALIGNED)
        },
    )
    return triton.compile(source, target=target, options={"num_warps": warps})


def main() -> None:
    backend, architecture = json.loads(sys.argv[1])
    target, tiles = GPUTarget(backend, architecture, _LANES[backend]), slot_tiles_for(3072)
    common = {**_COMMON, "PTX": backend == "cuda"}
    first = compiled(slot_first_product, {**common, "BLOCKS": tiles.blocks, **_ACTIVATION}, tiles.warps, target)
    options = {"SLOTS": 4, "ROWS": tiles.rows, "BLOCKS": tiles.second_blocks, "WEIGHTED": True}
    second = compiled(
        slot_second_product, {**common, **options, "SLOT": "bf16", "SUM": "fp32"}, tiles.second_warps, target
    )
    json.dump([[each.asm[_ASSEMBLY[backend]], each.metadata.shared] for each in (first, second)], sys.stdout)


if __name__ == "__main__":
    main()
