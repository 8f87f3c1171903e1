"""moe_gemm_a8w4 calls its keyword add_residual swiglu_add_residual since v0.1.16; a4w4 and a16w4 do so as well."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="removed keyword",
    symbol="aiter.ops.triton.moe.moe_op_gemm_a8w4.moe_gemm_a8w4",
    detail="add_residual",
    since="0.1.16",
    remedy="Call aiter_compat.fused_moe, or pass the keyword under the name that the function's signature has.",
    source="ROCm/aiter v0.1.16 aiter/ops/triton/moe/moe_op_gemm_a8w4.py",
)
