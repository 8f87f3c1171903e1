"""The MoE in fp64 but for the roundings that a request asks for: what remains is the error of a path's arithmetic."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation import EmulationRequest
from aiter_compat.backends.emulation.activation_qdq import second_operand
from aiter_compat.backends.emulation.epilogues import stage1_epilogue, stage2_epilogue
from aiter_compat.backends.emulation.expert_bank import open_bank
from aiter_compat.backends.emulation.first_operand import first_operand
from aiter_compat.backends.emulation.routing import computed_tokens, route
from aiter_compat.backends.emulation.slot_sum import sum_slots
from aiter_compat.backends.emulation.weight_decoding import decode_expert


@torch.no_grad()
def moe_fp64(request: EmulationRequest) -> torch.Tensor:
    """[M, H] fp64, not rounded to the result's dtype; rows that are not computed are 0."""
    bank = open_bank(request)
    tokens = computed_tokens(request)
    slots = route(request, tokens)
    choices = slots.experts.shape[1]
    hidden = first_operand(request, tokens).double()
    weights = slots.weights.double()
    activated = hidden.new_zeros(tokens, choices, bank.intermediate)
    touched = slots.experts.unique().tolist()
    for expert in touched:
        if expert < 0:
            continue
        chosen = slots.experts == expert
        rows = hidden.unsqueeze(1).expand(-1, choices, -1)[chosen]
        gate_up = rows @ decode_expert(*bank.first(expert)).double().t()
        bias = bank.bias1(expert)
        activated[chosen] = stage1_epilogue(gate_up, weights[chosen], None if bias is None else bias.double(), request)
    second = second_operand(activated.float(), request).double()
    shares = hidden.new_zeros(tokens, choices, bank.hidden)
    for expert in touched:
        if expert < 0:
            continue
        chosen = slots.experts == expert
        bias = bank.bias2(expert)
        shares[chosen] = stage2_epilogue(
            second[chosen] @ decode_expert(*bank.second(expert)).double().t(),
            weights[chosen],
            None if bias is None else bias.double(),
            request,
        )
    result = hidden.new_zeros(request.hidden_states.shape[0], bank.hidden)
    result[:tokens] = sum_slots(shares, request).double()
    return result
