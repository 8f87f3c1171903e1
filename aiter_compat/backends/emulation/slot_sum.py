"""From the results of a token's slots to the token's result."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.activation_qdq import sixteen_bit_dtype
from aiter_compat.backends.emulation.request import EmulationRequest


def sum_slots(slots: torch.Tensor, request: EmulationRequest) -> torch.Tensor:
    """Add up the slots of each token in the order of the profile.

    Args:
        slots: [M, k, H] fp32, weighted, with bias2; 0 for slots without an expert.
        request: the call; `profile.slot_rounding` and `profile.slot_sum` say where 16-bit roundings happen.

    Returns:
        [M, H] fp32, not yet rounded to the result's dtype.
    """
    short = sixteen_bit_dtype(request)
    if request.profile.slot_rounding == "bf16":
        slots = slots.to(short).float()
    if request.profile.slot_sum == "fp32":
        return slots.sum(dim=1)
    total = torch.zeros_like(slots[:, 0])
    for slot in slots.unbind(dim=1):
        total = (total + slot).to(short).float()
    return total
