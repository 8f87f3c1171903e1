"""What happens to the result of each GEMM, slot by slot, in fp32: routing weight, bias, activation."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.activations import activate
from aiter_compat.backends.emulation.request import EmulationRequest


def stage1_epilogue(
    gate_up: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor | None, request: EmulationRequest
) -> torch.Tensor:
    """From the first GEMM of some slots of one expert to the activation's output.

    Args:
        gate_up: [S, N1] fp32.
        weights: [S] fp32 routing weights.
        bias: [N1] fp32 or None.
        request: the call.

    Returns:
        [S, I] fp32.
    """
    order = request.profile.doweight_stage1 if request.doweight_stage1 else "ignored"
    if order == "before_bias":
        gate_up = gate_up * weights.unsqueeze(1)
    if bias is not None:
        gate_up = gate_up + bias
    activated = activate(gate_up, request.activation, request.gate_rows)
    return activated * weights.unsqueeze(1) if order == "after_activation" else activated


def stage2_epilogue(
    product: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor | None, request: EmulationRequest
) -> torch.Tensor:
    """From the second GEMM of some slots of one expert to their share of the result.

    Args:
        product: [S, H] fp32.
        weights: [S] fp32 routing weights, not applied when stage 1 was asked to.
        bias: [H] fp32 or None.
        request: the call.

    Returns:
        [S, H] fp32.
    """
    if bias is not None:
        product = product + bias
    return product if request.doweight_stage1 else product * weights.unsqueeze(1)
