"""Compile a plain product for a GPU that need not be there. Prints assembly and shared memory as JSON, takes JSON:

{"product": "plain_first_product", "target": ["cuda", 90], "weights": "mxfp4", "layout": "logical", "terms": 1,
 "slots": 100, "shared_memory": 232448}
"""

import json
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from aiter_compat.backends.emulation.triton_path.kernels.plain_products import plain_first_product, plain_second_product
from aiter_compat.backends.emulation.triton_path.tile_choice import plain_tiles_for

_ACTIVATION = {
    "RESULT_TERMS": 1,
    "ACTIVATION": "swiglu",
    "GATED": True,
    "INTERLEAVED": False,
    "LINEAR_BETA": False,
    "ROUNDING": "mxfp4",
    "RULE": "even",
    "SHORT": "bf16",
}
_KERNELS = {
    "plain_first_product": (plain_first_product, {"WEIGHTED": "no", **_ACTIVATION}, "*bf16"),
    "plain_second_product": (plain_second_product, {"WEIGHTED": True}, "*fp32"),
}
_POINTERS = {
    **dict.fromkeys(("weights", "weight_scales"), "*u8"),
    **dict.fromkeys(("bias", "routing_weights"), "*fp32"),
    **dict.fromkeys(("tile_expert", "tile_row", "tile_end", "slot_of_row"), "*i32"),
    "activations": "*bf16",
}
_FLOATS = ("alpha", "beta", "limit", "linear_beta", "amax_floor")
_UNALIGNED = ("experts_from", "experts_to", "choices")
_LANES = {"cuda": 32, "hip": 64}
_ASSEMBLY = {"cuda": "ptx", "hip": "amdgcn"}


def main() -> None:
    asked = json.loads(sys.argv[1])
    kernel, options, results = _KERNELS[asked["product"]]
    terms, layout, weights = asked["terms"], asked["layout"], asked["weights"]
    tiles = plain_tiles_for(asked["slots"], 1, (terms, terms), asked["shared_memory"])[0]
    constants = {
        **{"ROWS": tiles.rows, "TOKENS": tiles.tokens, "STEPS": 24, "TERMS": terms, "BIAS": True},
        **{"FORMAT": weights, "WORD_BYTES": 4 if weights == "mxfp4" else 8},
        **{"LAYOUT": layout, "ALIGNED": layout == "logical"},
        **options,
    }
    types = {**_POINTERS, "results": results, **dict.fromkeys(_FLOATS, "fp32"), **dict.fromkeys(constants, "constexpr")}
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        {name: types.get(name, "i32") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        # As at a call: addresses and sizes are multiples of 16.
        {
            (place,): [["tt.divisibility", 16]]
            for place, name in enumerate(names)
            if name not in (*constants, *_FLOATS, *_UNALIGNED)
        },
    )
    backend, architecture = asked["target"]
    target = GPUTarget(backend, architecture, _LANES[backend])
    compiled = triton.compile(source, target=target, options={"num_warps": tiles.warps, "num_stages": tiles.stages})
    made = {
        "assembly": compiled.asm[_ASSEMBLY[backend]],
        "shared_memory": compiled.metadata.shared,
        "expected": tiles.shared_memory(terms),
    }
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main()
