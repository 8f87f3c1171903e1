"""bf16 weights kept beside the model: four times the memory of MXFP4, and nothing to decode."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation import EmulationRequest
from benchmarks.peers_gpu.kernels.decoding import decode
from benchmarks.peers_gpu.kernels.expert_product import first_product, second_product, tile_for
from benchmarks.peers_gpu.kernels.rounding import activate, through_mxfp4
from benchmarks.peers_gpu.kernels.slot_order import plan
from benchmarks.peers_gpu.kernels.slot_sum import sum_slots


class Bf16Experts:
    """Decodes once. The calls round the activations as the request says, and stage 1 to bf16 as vLLM's MoE does."""

    name = "bf16 weights kept"

    def __init__(self, layer: EmulationRequest) -> None:
        self.w1 = empty_values(layer.w1)
        self.w2 = empty_values(layer.w2)
        decode_experts(layer, self.w1, self.w2)

    def call(self, request: EmulationRequest) -> torch.Tensor:
        """[M, H] bf16."""
        return experts(request, self.w1, self.w2)


def experts(request: EmulationRequest, w1: torch.Tensor, w2: torch.Tensor) -> torch.Tensor:
    """Sort, round, first GEMM, activation, round, second GEMM, sum.

    Args:
        request: tokens, routing, activation and roundings; its weights are not read.
        w1: [E, 2*I, H] bf16, the gate half first.
        w2: [E, H, I] bf16.

    Returns:
        [M, H] bf16.
    """
    choices = request.topk_ids.shape[1]
    tile = tile_for(request.topk_ids.numel(), w1.shape[0])
    order = plan(request.topk_ids, w1.shape[0], tile.rows)
    x = request.hidden_states
    if request.qdq_first != "none":
        x = through_mxfp4(x, request.profile)
    gate_up = first_product(x, w1, choices, order, tile)
    activated = activate(gate_up, request.activation, request.profile if request.qdq_second != "none" else None)
    return sum_slots(second_product(activated, w2, request.topk_weight, order, tile), choices)


def empty_values(codes: torch.Tensor) -> torch.Tensor:
    """bf16 memory for the values of packed codes [E, N, K/2]."""
    return torch.empty(*codes.shape[:-1], codes.shape[-1] * 2, dtype=torch.bfloat16, device=codes.device)


def decode_experts(request: EmulationRequest, w1: torch.Tensor, w2: torch.Tensor) -> None:
    """Decode both matrices of all experts into w1 and w2."""
    assert request.w1_scale is not None
    assert request.w2_scale is not None
    decode(request.w1, request.w1_scale, w1)
    decode(request.w2, request.w2_scale, w2)
