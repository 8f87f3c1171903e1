"""An MXFP4 layer in fp64, written apart from the package, with the second operand as the path under test rounded it.

A sum in fp32 that lies next to a rounding boundary may fall on the other side of it than the exact one, and the element
then moves by a whole step of its format: no bound on arithmetic would survive that. So what the second product reads is
taken over from the path, after it was compared with the exact one, and everything else is exact.
"""

from __future__ import annotations

import math

import torch

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from aiter_compat.formats import qdq

_E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
_CODES = torch.tensor(_E2M1 + [-value for value in _E2M1], dtype=torch.float64)


def weights(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """[E, N, K] fp64 of packed MXFP4."""
    values = _CODES[torch.stack([codes & 15, codes >> 4], dim=-1).flatten(-2).long()]
    return values * torch.exp2(scales.double() - 127).repeat_interleave(32, dim=-1)


def activation(spec: ActivationSpec, gate_up: torch.Tensor) -> torch.Tensor:
    """[..., I] fp64 of [..., N1]; the formulas of docs/numerics.md."""
    gate, up = gate_up.chunk(2, dim=-1) if spec.gated else (gate_up, None)
    limit = math.inf if spec.limit is None else spec.limit
    up = 1.0 if up is None else up.clamp(-limit, limit)
    clamped = gate.clamp(max=limit)
    sigmoid = torch.sigmoid
    if spec.name == "silu":
        return clamped * sigmoid(clamped) * up
    if spec.name == "gelu":
        return clamped * (1 + torch.erf(clamped / math.sqrt(2))) / 2 * up
    if spec.name == "gelu_tanh":
        return clamped * (1 + torch.tanh(math.sqrt(2 / math.pi) * (clamped + 0.044715 * clamped**3))) / 2 * up
    if spec.name == "relu2":
        return gate.clamp(min=0) ** 2 * up
    if spec.name == "swiglu":
        return clamped * sigmoid(spec.alpha * clamped) * (up + spec.beta)
    if spec.name == "swiglustep":
        return (gate * sigmoid(gate)).clamp(max=limit) * up
    saturated = up if spec.linear_beta is None else spec.linear_beta * torch.tanh(up / spec.linear_beta)
    return spec.beta * torch.tanh(gate / spec.beta) * sigmoid(gate) * saturated


def local_slots(request: EmulationRequest) -> tuple[torch.Tensor, torch.Tensor]:
    """Flat numbers and experts of the slots that count, in the order of their experts, then of their tokens."""
    ids = request.topk_ids.long().reshape(-1)
    if request.expert_mask is not None:
        numbers = torch.where(request.expert_mask != 0, request.expert_mask.bool().cumsum(0) - 1, -1)
        known = (ids >= 0) & (ids < numbers.numel())
        ids = torch.where(known, numbers[ids.clamp(0, numbers.numel() - 1)], -1)
    tokens = request.hidden_states.shape[0] if request.num_local_tokens is None else int(request.num_local_tokens)
    choices = request.topk_ids.shape[1]
    counts = (ids >= 0) & (ids < request.w1.shape[0]) & (request.topk_weight.reshape(-1) != 0)
    counts &= torch.arange(ids.numel()) < tokens * choices
    slots = torch.where(counts)[0]
    order = torch.sort(ids[slots], stable=True).indices
    return slots[order], ids[slots][order]


def first_product(request: EmulationRequest) -> torch.Tensor:
    """[S, I] fp64: the activation's output of every slot that counts, in the order of `local_slots`."""
    slots, experts = local_slots(request)
    hidden = request.hidden_states
    if request.qdq_first != "none":
        hidden = qdq(hidden, request.qdq_first, request.profile, dtype=torch.float32)
    w1, hidden = weights(request.w1, request.w1_scale), hidden.double()
    token = slots // request.topk_ids.shape[1]
    weight = request.topk_weight.double().reshape(-1)[slots]
    gate_up = torch.stack(
        [w1[expert] @ hidden[row] for expert, row in zip(experts.tolist(), token.tolist(), strict=True)]
    )
    order = request.profile.doweight_stage1 if request.doweight_stage1 else "ignored"
    if order == "before_bias":
        gate_up = gate_up * weight.unsqueeze(1)
    if request.bias1 is not None:
        gate_up = gate_up + request.bias1.double()[experts]
    if request.gate_rows == "interleaved":
        gate_up = torch.cat([gate_up[:, ::2], gate_up[:, 1::2]], dim=1)
    result = activation(request.activation, gate_up)
    return result * weight.unsqueeze(1) if order == "after_activation" else result


def second_product(request: EmulationRequest, operand: torch.Tensor) -> torch.Tensor:
    """[M, H] fp64 from the second product's activations, [S, I] in the order of `local_slots`."""
    slots, experts = local_slots(request)
    w2 = weights(request.w2, request.w2_scale)
    tokens, choices = request.topk_ids.shape
    result = torch.zeros(tokens, w2.shape[1], dtype=torch.float64)
    weight = request.topk_weight.double().reshape(-1)
    for place, (slot, expert) in enumerate(zip(slots.tolist(), experts.tolist(), strict=True)):
        share = w2[expert] @ operand[place].double()
        if request.bias2 is not None:
            share = share + request.bias2[expert].double()
        result[slot // choices] += share if request.doweight_stage1 else share * weight[slot]
    return result
