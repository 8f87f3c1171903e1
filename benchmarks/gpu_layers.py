"""Layers of real models with seeded MXFP4 weights, made on the device, and batches for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from aiter_compat.profiles import profile
from benchmarks.layers import Shape

_CLAMPED_SWIGLU = ActivationSpec("swiglu", alpha=1.702, beta=1.0, limit=7.0)
_LEAST_EXPERT_BYTES = 300e6  # several times any GPU's L2
_FEWEST_BATCHES, _MOST_BATCHES = 4, 16

SHAPES: Mapping[str, tuple[Shape, ActivationSpec, str]] = {
    "a": (Shape(128, 4, 6144, 384), _CLAMPED_SWIGLU, "MiniMax-M3, one of 8 ranks"),
    "b": (Shape(128, 4, 3072, 3072), _CLAMPED_SWIGLU, "gpt-oss-120b, padded to 3072"),
    "c": (Shape(256, 8, 7168, 256), ActivationSpec("silu"), "DeepSeek-R1, one of 8 ranks"),
    "tiny": (Shape(8, 2, 256, 128), _CLAMPED_SWIGLU, "to try the script"),
}
"""Name -> sizes, activation, and whose they are."""


def layer(name: str, device: torch.device, activation_format: str = "mxfp4", seed: int = 0) -> EmulationRequest:
    """A layer without tokens: random codes, scales between 2^-9 and 2^-4."""
    shape, activation, _ = SHAPES[name]
    random = torch.Generator(device).manual_seed(seed)

    def integers(low: int, high: int, *size: int) -> torch.Tensor:
        return torch.randint(low, high, size, dtype=torch.uint8, generator=random, device=device)

    rows, hidden, intermediate = 2 * shape.intermediate, shape.hidden, shape.intermediate
    return EmulationRequest(
        hidden_states=torch.empty(0, hidden, dtype=torch.bfloat16, device=device),
        w1=integers(0, 256, shape.experts, rows, hidden // 2),
        w2=integers(0, 256, shape.experts, hidden, intermediate // 2),
        w1_scale=integers(118, 124, shape.experts, rows, hidden // 32),
        w2_scale=integers(118, 124, shape.experts, hidden, intermediate // 32),
        topk_weight=torch.empty(0, shape.choices, device=device),
        topk_ids=torch.empty(0, shape.choices, dtype=torch.int32, device=device),
        activation=activation,
        quant_type="per_1x32",
        weight_format="mxfp4",
        qdq_first=activation_format,
        qdq_second=activation_format,
        profile=profile(),
        out_dtype=torch.bfloat16,
    )


def batches(request: EmulationRequest, tokens: int, choices: int, count: int) -> list[EmulationRequest]:
    """Several batches for the same layer, each token choosing its experts evenly at random."""
    made = []
    for seed in range(1, count + 1):
        device = request.w1.device
        random = torch.Generator(device).manual_seed(seed)
        scores = torch.rand(tokens, request.w1.shape[0], generator=random, device=device)
        weight, ids = torch.topk(torch.softmax(scores, -1), choices)
        hidden = torch.randn(tokens, request.hidden_states.shape[1], generator=random, device=device)
        made.append(replace(request, hidden_states=hidden.to(torch.bfloat16), topk_weight=weight, topk_ids=ids.int()))
    return made


def batches_needed(shape: Shape, tokens: int) -> int:
    """How many batches in turn read so many different experts that none is in the cache when it comes again."""
    touched = min(tokens * shape.choices, shape.experts)
    wanted = -(-_LEAST_EXPERT_BYTES // (touched * shape.expert_bytes))
    return int(min(max(wanted, _FEWEST_BATCHES), _MOST_BATCHES))
