"""GateMode moved from FlyDSL's kernel module to aiter.ops.flydsl.moe_common.

v0.1.13 defines it in aiter/ops/flydsl/kernels/mixed_moe_gemm_2stage.py, which needs flydsl to import; v0.1.14 on in
aiter/ops/flydsl/moe_common.py. A host that imports either path unconditionally fails on the other side
(vllm-project/vllm#46419).
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="moved symbol",
    symbol="aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode",
    detail="aiter.ops.flydsl.moe_common.GateMode",
    since="0.1.14",
    remedy="Use aiter_compat.GateMode, which resolves the right path on first touch.",
    source="ROCm/aiter v0.1.14 aiter/ops/flydsl/moe_common.py",
)
