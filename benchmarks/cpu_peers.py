"""What people have instead, written anew: algorithms of other projects, without their code.

All round activations as the request says, and compute in fp32: on a processor without native bf16 products torch's bf16
GEMM would be the slowest part of them by far. Each takes an iterator of requests that differ in their tokens only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch

from aiter_compat.backends.emulation import EmulationRequest
from aiter_compat.formats import qdq

Requests: TypeAlias = Iterator[EmulationRequest]
_E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])


def aiter_reference(requests: Requests) -> Callable[[], torch.Tensor]:
    """AITER's torch reference: every expert to fp32 in each call, then a loop over the experts."""

    def call() -> torch.Tensor:
        request = next(requests)
        return _experts(request, _decode(request.w1, request.w1_scale), _decode(request.w2, request.w2_scale))

    return call


def vllm_emulation(requests: Requests) -> Callable[[], torch.Tensor]:
    """The OCP MX emulation of vLLM: every expert to bf16 in each call, then the MoE of unquantised weights."""

    def call() -> torch.Tensor:
        request = next(requests)
        w1 = _decode(request.w1, request.w1_scale).to(torch.bfloat16)
        w2 = _decode(request.w2, request.w2_scale).to(torch.bfloat16)
        return _experts(request, w1, w2)

    return call


def decoded_once(requests: Requests) -> Callable[[], torch.Tensor]:
    """Weights kept in fp32, eight times the memory: what decoding in each call has to be compared with."""
    request = next(requests)
    w1, w2 = _decode(request.w1, request.w1_scale), _decode(request.w2, request.w2_scale)
    return lambda: _experts(next(requests), w1, w2)


def _decode(codes: torch.Tensor, scales: torch.Tensor | None) -> torch.Tensor:
    """fp32 values, by arithmetic on nibbles and a look-up, as the reference does."""
    assert scales is not None
    nibbles = torch.stack((codes & 0xF, codes >> 4), dim=-1).flatten(-2)
    values = _E2M1[nibbles.long()]
    factors = torch.exp2(scales.float() - 127)
    return values * factors.repeat_interleave(32, dim=-1)


def _rounded(x: torch.Tensor, name: str, request: EmulationRequest) -> torch.Tensor:
    return x.float() if name == "none" else qdq(x, name, request.profile, dtype=torch.float32)


def _experts(request: EmulationRequest, w1: torch.Tensor, w2: torch.Tensor) -> torch.Tensor:
    x = _rounded(request.hidden_states, request.qdq_first, request)
    ids = request.topk_ids
    result = torch.zeros_like(x)
    for expert in range(w1.shape[0]):
        token, choice = torch.where(ids == expert)
        if token.numel() == 0:
            continue
        gate, up = (x[token] @ w1[expert].float().t()).chunk(2, dim=-1)
        activated = (torch.nn.functional.silu(gate) * up).to(torch.bfloat16)
        share = _rounded(activated, request.qdq_second, request) @ w2[expert].float().t()
        result.index_add_(0, token, share * request.topk_weight[token, choice].unsqueeze(1))
    return result.to(request.out_dtype)
