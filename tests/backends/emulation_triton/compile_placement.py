"""Compile what places the slots of a call for one GPU and print the shared memory of each kernel. Needs no GPU."""

import json
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from aiter_compat.backends.emulation.triton_path.kernels.placement import count_slots, number_experts, place_rows
from aiter_compat.backends.emulation.triton_path.kernels.slot_sum import sum_slots

_ROUTING = {"MASKED": True, "SKIP_ZERO": True, "LIMITED": True, "SHARED": True}
_KERNELS = (
    (number_experts, {"COUNT": 256}, 4),
    (count_slots, {**_ROUTING, "CHUNK": 512, "EXPERTS": 512}, 4),
    (
        place_rows,
        {"EXPERTS": 256, "TOKENS": 128, "TOKENS_2": 64, "CHUNK": 512, "PIECE": 16, "CHUNKS_AT_ONCE": 16},
        8,
    ),
    (sum_slots, {"CHOICES": 8, "PARTS": 1, "SLOT": "bf16", "SUM": "fp32", "BLOCK": 1024}, 4),
)
_NUMBERS = ("topk_ids", "local_of_global", "local_tokens", "expert_of_slot", "counts", "slot_of_row", "row_of_slot")
_TABLES = ("tile_expert", "tile_row", "tile_end", "tile_expert_2", "tile_row_2", "tile_end_2", "mask")
_TYPES = {
    **dict.fromkeys(_NUMBERS, "*i32"),
    **dict.fromkeys(_TABLES, "*i32"),
    "topk_weights": "*fp32",
    "results": "*fp32",
    "out": "*bf16",
}


def main() -> None:
    backend, architecture, warp = json.loads(sys.argv[1])
    shared = {}
    for kernel, constants, warps in _KERNELS:
        types = _TYPES | dict.fromkeys(constants, "constexpr")
        signature = {name: types.get(name, "i32") for name in kernel.arg_names}
        compiled = triton.compile(
            ASTSource(kernel, signature, constants, {}),
            target=GPUTarget(backend, architecture, warp),
            options={"num_warps": warps},
        )
        shared[kernel.__name__] = compiled.metadata.shared
    json.dump(shared, sys.stdout)


if __name__ == "__main__":
    main()
