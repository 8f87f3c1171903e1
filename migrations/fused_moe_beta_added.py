"""fused_moe takes beta and linear_beta, for the SiTUv2 activation, since v0.1.19."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="new keyword",
    symbol="aiter.fused_moe.fused_moe",
    detail="beta",
    since="0.1.19",
    remedy="Call aiter_compat.fused_moe, which emulates SiTUv2 on older releases.",
    source="ROCm/aiter v0.1.19 aiter/fused_moe.py",
)
