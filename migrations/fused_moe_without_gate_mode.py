"""A fused_moe call without gate_mode means interleaved SwiGLU weights until v0.1.13, separated ones since v0.1.14.

The default that v0.1.14 brought is "separated"; the dispatch of v0.1.13 for SwiGLU with per_1x32 weights is the one
that v0.1.14 uses for "interleave" (ROCm/aiter#3586: accuracy 0 on gpt-oss).
"""

from aiter_compat.migration_matching import calls, lacks_keyword
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="changed meaning",
    symbol="aiter.fused_moe.fused_moe",
    detail="gate_mode",
    since="0.1.14",
    remedy="Call aiter_compat.fused_moe and say gate_mode; it never reads weights the other way.",
    source="ROCm/aiter v0.1.14 aiter/fused_moe.py; ROCm/aiter#3586",
    matches=lambda use: calls(use, "aiter.fused_moe.fused_moe") and lacks_keyword(use, "gate_mode"),
)
