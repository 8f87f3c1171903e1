"""fused_qk_rmsnorm kept its name in v0.1.14 and writes into tensors that the caller passes instead of returning them.

Until v0.1.13.post1 it returns (q, k) of (q, q_weight, q_eps, k, k_weight, k_eps); since, its first arguments are
outputs, so a positional call binds the wrong tensors (ROCm/aiter#2958, vllm-project/vllm#40386).
"""

from aiter_compat.migration_matching import calls_any
from aiter_compat.migration_model import Migration

PATHS = ("aiter.fused_qk_rmsnorm", "aiter.ops.fused_qk_norm_rope_cache_quant.fused_qk_rmsnorm")

MIGRATION = Migration(
    kind="return shape",
    symbol="aiter.fused_qk_rmsnorm",
    since="0.1.14",
    remedy="Ask for one contract: aiter_compat.load('aiter.fused_qk_rmsnorm', contract=...).",
    source="ROCm/aiter v0.1.14 aiter/ops/fused_qk_rmsnorm_group_quant.py; ROCm/aiter#2958",
    matches=lambda use: calls_any(use, PATHS),
)
