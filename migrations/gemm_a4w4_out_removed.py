"""gemm_a4w4 allocates its result since v0.1.9: out is gone, and dtype came."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="removed keyword",
    symbol="aiter.ops.gemm_op_a4w4.gemm_a4w4",
    detail="out",
    since="0.1.9",
    remedy="Pass out only where aiter_compat.locate finds a release before v0.1.9, and use the returned tensor.",
    source="ROCm/aiter v0.1.9 aiter/ops/gemm_op_a4w4.py",
)
