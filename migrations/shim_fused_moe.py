"""fused_moe is taken from aiter_compat, which gives it on every release since v0.1.5 and without AITER."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="host to shim",
    symbol="aiter.fused_moe.fused_moe",
    detail="fused_moe",
    since="0.1.5",
    remedy="Take fused_moe from aiter_compat.",
    source="ROCm/aiter v0.1.5 aiter/fused_moe.py",
)
