"""gemm_a8w8_bpreshuffle computes bf16 by default since v0.1.6.post2; it was fp16."""

from aiter_compat.migration_matching import calls_any, lacks_keyword, positional
from aiter_compat.migration_model import Migration

_PATHS = ("aiter.gemm_a8w8_bpreshuffle", "aiter.ops.gemm_op_a8w8.gemm_a8w8_bpreshuffle")
_POSITION_OF_BIAS = 5

MIGRATION = Migration(
    kind="changed default",
    symbol="aiter.ops.gemm_op_a8w8.gemm_a8w8_bpreshuffle",
    detail="dtype",
    since="0.1.6.post2",
    remedy="Pass dtype; aiter_compat.load gives the function as the release has it.",
    source="ROCm/aiter v0.1.6.post2 aiter/ops/gemm_op_a8w8.py",
    matches=lambda use: calls_any(use, _PATHS) and lacks_keyword(use, "dtype") and positional(use) <= _POSITION_OF_BIAS,
)
