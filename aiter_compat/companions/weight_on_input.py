"""`asm_moe_tkw1`: the fused MoE that multiplies the routing weight in its first GEMM."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from aiter_compat.moe import fused_moe


def asm_moe_tkw1(
    hidden_states: Tensor,
    w1: Tensor,
    w2: Tensor,
    topk_weight: Tensor,
    topk_ids: Tensor,
    fc1_scale: Tensor | None = None,
    fc2_scale: Tensor | None = None,
    fc1_smooth_scale: Tensor | None = None,
    fc2_smooth_scale: Tensor | None = None,
    a16: bool = False,  # noqa: ARG001 - without effect in AITER
    per_tensor_quant_scale: Tensor | None = None,  # noqa: ARG001 - without effect in AITER
    expert_mask: Tensor | None = None,
    activation: Any = "silu",
    **options: Any,
) -> Tensor:
    """AITER's `aiter.fused_moe_bf16_asm.asm_moe_tkw1`, which hosts use for Llama 4.

    In every release it is `fused_moe` with per-token fp8 and `doweight_stage1=True`, and drops `a16` and
    `per_tensor_quant_scale` (v0.1.9 to v0.1.20.post1 aiter/fused_moe_bf16_asm.py). So it is here: which AITER function
    serves, and what is emulated, is decided as for `ac.fused_moe`, and `ac.explain` tells for the same arguments.

    Args:
        hidden_states: [M, H] bf16 or fp16.
        w1: fp8 [E, 2*I, H], rows [gate; up].
        w2: fp8 [E, H, I].
        topk_weight: [M, k].
        topk_ids: [M, k].
        fc1_scale: fp32 [E, 2*I, 1].
        fc2_scale: fp32 [E, H, 1].
        fc1_smooth_scale: sent as `a1_scale`.
        fc2_smooth_scale: sent as `a2_scale`.
        a16: without effect, as in AITER.
        per_tensor_quant_scale: without effect, as in AITER.
        expert_mask: [experts of all ranks], 1 for a local one.
        activation: as in `ac.fused_moe`.
        **options: keywords of `ac.fused_moe`: backend, numerics, weight_layout.

    Returns:
        [M, H] in the dtype of hidden_states.

    Raises:
        AiterCompatError: as `ac.fused_moe`.
    """
    return fused_moe(
        hidden_states,
        w1,
        w2,
        topk_weight,
        topk_ids,
        expert_mask=expert_mask,
        activation=activation,
        quant_type="per_token",
        doweight_stage1=True,
        w1_scale=fc1_scale,
        w2_scale=fc2_scale,
        a1_scale=fc1_smooth_scale,
        a2_scale=fc2_smooth_scale,
        **options,
    )
