"""fused_moe takes hidden_pad, intermediate_pad, bias1 and bias2 since v0.1.6.post2."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="new keyword",
    symbol="aiter.fused_moe.fused_moe",
    detail="bias1",
    since="0.1.6.post2",
    remedy="Call aiter_compat.fused_moe, which takes biases and pads on every release.",
    source="ROCm/aiter v0.1.6.post2 aiter/fused_moe.py",
)
