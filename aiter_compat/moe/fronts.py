"""The two public calls, as their fronts tell arguments apart."""

from __future__ import annotations

from aiter_compat.moe.call_front import Front

FUSED_MOE = Front(
    layer="w1",
    seldom=(
        "expert_mask",
        "a1_scale",
        "a2_scale",
        "num_local_tokens",
        "shared_w1",
        "shared_w2",
        "shared_w1_scale",
        "shared_w2_scale",
        "block_size_M",
        "beta",
        "linear_beta",
        "numerics",
    ),
)
FUSED_EXPERTS = Front(
    layer="weights",
    seldom=("expert_map", "num_local_tokens", "a1_scale", "a2_scale", "dtype", "numerics"),
)
