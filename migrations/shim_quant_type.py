"""QuantType is taken from aiter_compat, which gives it on every release since v0.1.5 and without AITER."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="host to shim",
    symbol="aiter.ops.enum.QuantType",
    detail="QuantType",
    since="0.1.5",
    remedy="Take QuantType from aiter_compat.",
    source="ROCm/aiter v0.1.5 aiter/ops/enum.py",
)
