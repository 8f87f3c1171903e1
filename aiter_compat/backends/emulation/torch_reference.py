"""The fused MoE, written to be read: decode each expert, loop over the experts, round where the profile says.

This is the specification of the emulation; `torch_grouped` computes the same faster and is tested against it.
The order of operations follows `torch_moe_stage1` and `torch_moe_stage2` of aiter/fused_moe.py
(v0.1.15.post3).
"""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.activation_qdq import second_operand
from aiter_compat.backends.emulation.epilogues import stage1_epilogue, stage2_epilogue
from aiter_compat.backends.emulation.expert_bank import ExpertBank
from aiter_compat.backends.emulation.first_operand import first_operand
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.routing import Slots
from aiter_compat.backends.emulation.slot_sum import sum_slots
from aiter_compat.backends.emulation.weight_decoding import decode_expert


def moe_reference(request: EmulationRequest, bank: ExpertBank, slots: Slots) -> torch.Tensor:
    """Compute the MoE of the tokens that `slots` covers.

    Args:
        request: the call, checked.
        bank: its weights.
        slots: [T, k] local experts and weights; the first T rows of hidden_states are computed.

    Returns:
        [T, H] fp32, unrounded.
    """
    tokens, choices = slots.experts.shape
    hidden = first_operand(request, tokens)

    activated = hidden.new_zeros(tokens, choices, bank.intermediate)
    for expert in range(bank.experts):
        chosen = slots.experts == expert
        if chosen.any():
            rows = hidden.unsqueeze(1).expand(-1, choices, -1)[chosen]
            gate_up = rows @ decode_expert(*bank.first(expert)).t()
            activated[chosen] = stage1_epilogue(gate_up, slots.weights[chosen], bank.bias1(expert), request)

    activated = second_operand(activated, request)

    results = hidden.new_zeros(tokens, choices, bank.hidden)
    for expert in range(bank.experts):
        chosen = slots.experts == expert
        if chosen.any():
            product = activated[chosen] @ decode_expert(*bank.second(expert)).t()
            results[chosen] = stage2_epilogue(product, slots.weights[chosen], bank.bias2(expert), request)
    return sum_slots(results, request)
