"""AITER's torch reference (`torch_moe` in aiter/fused_moe.py, v0.1.15.post3): all experts to fp32, then a loop.

Each expert of the loop waits for the device, to learn which slots are its own; so it cannot be captured in a graph.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from aiter_compat.formats import qdq

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)


class AiterReference:
    """Keeps nothing between calls."""

    name = "AITER's reference"

    def call(self, request: EmulationRequest) -> torch.Tensor:
        """[M, H] bf16."""
        w1, w2 = _decode(request.w1, request.w1_scale), _decode(request.w2, request.w2_scale)
        x = _rounded(request.hidden_states, request.qdq_first, request)
        tokens, choices = request.topk_ids.shape
        repeated = x.view(tokens, 1, -1).expand(-1, choices, -1)
        activated = x.new_zeros(tokens, choices, w2.shape[2])
        for expert in range(w1.shape[0]):
            mask = request.topk_ids == expert
            if mask.sum():
                activated[mask] = _activate(repeated[mask] @ w1[expert].t(), request.activation)
        activated = _rounded(activated.to(torch.bfloat16), request.qdq_second, request)
        shares = x.new_zeros(tokens, choices, w2.shape[1])
        for expert in range(w1.shape[0]):
            mask = request.topk_ids == expert
            if mask.sum():
                shares[mask] = activated[mask] @ w2[expert].t()
        return (shares * request.topk_weight.view(tokens, choices, 1)).sum(1).to(request.out_dtype)


def _decode(codes: torch.Tensor, scales: torch.Tensor | None) -> torch.Tensor:
    assert scales is not None
    table = torch.tensor(_E2M1, device=codes.device)
    values = table[torch.stack((codes & 0xF, codes >> 4), dim=-1).flatten(-2).long()]
    return values.mul_(torch.exp2(scales.float() - 127).repeat_interleave(32, dim=-1))


def _rounded(x: torch.Tensor, name: str, request: EmulationRequest) -> torch.Tensor:
    return x.float() if name == "none" else qdq(x, name, request.profile, dtype=torch.float32)


def _activate(gate_up: torch.Tensor, spec: ActivationSpec) -> torch.Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    if spec.limit is not None:
        gate, up = gate.clamp(max=spec.limit), up.clamp(-spec.limit, spec.limit)
    if spec.name == "swiglu":
        return gate * torch.sigmoid(spec.alpha * gate) * (up + spec.beta)
    return functional.silu(gate) * up
