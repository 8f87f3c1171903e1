"""The FlyDSL kernel module moe_gemm_2stage, with compile_moe_gemm1 and compile_moe_gemm2, is gone in v0.1.20.

It was internal; vLLM imported it (vllm-project/vllm#51541, ROCm/aiter#4646).
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="removed symbol",
    symbol="aiter.ops.flydsl.kernels.moe_gemm_2stage.compile_moe_gemm1",
    since="0.1.20",
    remedy="Call aiter_compat.fused_moe instead of building kernels.",
    source="ROCm/aiter v0.1.20; ROCm/aiter#4646",
)
