"""fused_moe takes a shared expert since v0.1.19.post1: shared_w1, shared_w2, their scales and shared_expert_id."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="new keyword",
    symbol="aiter.fused_moe.fused_moe",
    detail="shared_w1",
    since="0.1.19.post1",
    remedy="Call aiter_compat.fused_moe, which computes the shared expert beside the call where AITER cannot.",
    source="ROCm/aiter v0.1.19.post1 aiter/fused_moe.py",
)
