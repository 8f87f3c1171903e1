"""Seeded MXFP4 layers to measure on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from aiter_compat.profiles import profile


@dataclass(frozen=True)
class Shape:
    """Sizes of a layer."""

    experts: int = 32
    choices: int = 4
    hidden: int = 1024
    intermediate: int = 1024

    @property
    def expert_bytes(self) -> float:
        """Codes and scales of one expert's three matrices: 17 bytes for 32 values."""
        return 3 * self.hidden * self.intermediate * 17 / 32

    @property
    def slot_products(self) -> float:
        """Multiplications of one slot."""
        return 3.0 * self.hidden * self.intermediate


def layer(shape: Shape, activation_format: str = "mxfp4", seed: int = 0) -> EmulationRequest:
    """A layer without tokens: random codes, scales between 2^-9 and 2^-4, SwiGLU."""
    random = torch.Generator().manual_seed(seed)

    def codes(*size: int) -> torch.Tensor:
        return torch.randint(0, 256, size, dtype=torch.uint8, generator=random)

    def scales(*size: int) -> torch.Tensor:
        return torch.randint(118, 124, size, dtype=torch.uint8, generator=random)

    rows = 2 * shape.intermediate
    return EmulationRequest(
        hidden_states=torch.empty(0, shape.hidden, dtype=torch.bfloat16),
        w1=codes(shape.experts, rows, shape.hidden // 2),
        w2=codes(shape.experts, shape.hidden, shape.intermediate // 2),
        w1_scale=scales(shape.experts, rows, shape.hidden // 32),
        w2_scale=scales(shape.experts, shape.hidden, shape.intermediate // 32),
        topk_weight=torch.empty(0, shape.choices),
        topk_ids=torch.empty(0, shape.choices, dtype=torch.int32),
        activation=ActivationSpec("silu"),
        quant_type="per_1x32",
        weight_format="mxfp4",
        qdq_first=activation_format,
        qdq_second=activation_format,
        profile=profile(),
        out_dtype=torch.bfloat16,
    )


def with_tokens(request: EmulationRequest, tokens: int, choices: int, seed: int = 1) -> EmulationRequest:
    """The same layer with tokens that choose their experts evenly at random."""
    random = torch.Generator().manual_seed(seed)
    scores = torch.rand(tokens, request.w1.shape[0], generator=random)
    weight, ids = torch.topk(torch.softmax(scores, -1), choices)
    hidden = torch.randn(tokens, request.hidden_states.shape[1], generator=random).to(torch.bfloat16)
    return replace(request, hidden_states=hidden, topk_weight=weight, topk_ids=ids.int())


def batches(request: EmulationRequest, tokens: int, choices: int, count: int = 8) -> list[EmulationRequest]:
    """Several batches for the same layer. Taken in turn they touch other experts each time, as text does."""
    return [with_tokens(request, tokens, choices, seed) for seed in range(1, count + 1)]


def touched_experts(requests: list[EmulationRequest]) -> float:
    """How many experts have at least one slot, on average."""
    return sum(request.topk_ids.unique().numel() for request in requests) / len(requests)
