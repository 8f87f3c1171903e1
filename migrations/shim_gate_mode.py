"""GateMode is taken from aiter_compat, which has it on every release and without AITER (v0.1.14 on has its own)."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="host to shim",
    symbol="aiter.ops.flydsl.moe_common.GateMode",
    detail="GateMode",
    since="0.1.14",
    remedy="Take GateMode from aiter_compat.",
    source="ROCm/aiter v0.1.14 aiter/ops/flydsl/moe_common.py",
)
