"""Modules below aiter.ops.flydsl.kernels are AITER's internals: they move and vanish without notice.

buffer_ops and vector shrank or went after v0.1.20 (ROCm/aiter#4980, ROCm/aiter#5303), moe_gemm_2stage in v0.1.20.
"""

from aiter_compat.migration_matching import imports_below
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="internal API",
    symbol="aiter.ops.flydsl.kernels",
    since="0.1.12",
    remedy="Use AITER's public functions, or aiter_compat.load and be ready for None from aiter_compat.locate.",
    source="ROCm/aiter#4980; ROCm/aiter#5303",
    matches=lambda use: imports_below(use, "aiter.ops.flydsl.kernels"),
)
