"""expert_mask is 0 or 1 for each global expert; a host's expert_map (local index, -1 elsewhere) is not.

Passing one for the other gives wrong results on every release, v0.1.5 as v0.1.20 (vllm-project/vllm#49758).
"""

from aiter_compat.migration_matching import argument, calls
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="changed meaning",
    symbol="aiter.fused_moe.fused_moe",
    detail="expert_mask",
    since="0.1.5",
    remedy="Call aiter_compat.fused_experts, which takes expert_map and converts it.",
    source="ROCm/aiter v0.1.5 aiter/fused_moe.py; vllm-project/vllm#49758",
    matches=lambda use: (
        calls(use, "aiter.fused_moe.fused_moe") and argument(use, "expert_mask", 5).endswith("expert_map")
    ),
)
