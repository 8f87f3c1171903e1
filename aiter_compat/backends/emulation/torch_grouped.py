"""The default path in torch: slots sorted by expert, only the experts that occur decoded, a tile at a time.

It computes what `torch_reference` computes, with the same rounding steps. What differs is the order in which
a GEMM adds up its products, and the memory: tiles are decoded into scratch that is reused, so that the extra
memory depends on the tokens and on the size of one tile, not on the number of experts.
"""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.activation_qdq import second_operand
from aiter_compat.backends.emulation.decoded_weights import decoded_weights
from aiter_compat.backends.emulation.epilogues import stage1_epilogue, stage2_epilogue
from aiter_compat.backends.emulation.expert_bank import ExpertBank
from aiter_compat.backends.emulation.first_operand import first_operand
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.routing import Slots, sort_slots
from aiter_compat.backends.emulation.slot_sum import sum_slots
from aiter_compat.backends.emulation.tiled_product import TiledProduct


def moe_grouped(request: EmulationRequest, bank: ExpertBank, slots: Slots) -> torch.Tensor:
    """Compute the MoE of the tokens that `slots` covers. Arguments and result as `moe_reference`."""
    tokens, choices = slots.experts.shape
    hidden = first_operand(request, tokens)
    groups = sort_slots(slots)
    token = groups.order // choices
    weights = slots.weights.reshape(-1)[groups.order]
    product = TiledProduct(hidden.device, decoded_weights())

    # Both stages keep the slots sorted: the second QDQ works row by row, or on the maximum over all rows.
    activated = hidden.new_empty(groups.order.numel(), bank.intermediate)
    for expert, span in groups.spans():
        gate_up = product(hidden.index_select(0, token[span]), *bank.first(expert))
        activated[span] = stage1_epilogue(gate_up, weights[span], bank.bias1(expert), request)

    activated = second_operand(activated, request)

    results = hidden.new_zeros(tokens * choices, bank.hidden)
    for expert, span in groups.spans():
        share = product(activated[span], *bank.second(expert))
        results[groups.order[span]] = stage2_epilogue(share, weights[span], bank.bias2(expert), request)
    return sum_slots(results.view(tokens, choices, bank.hidden), request)
