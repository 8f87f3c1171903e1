"""intermediate_pad=0 switches pad skipping off, which the pad fix of v0.1.15.post3 and v0.1.16 may make pointless.

FlyDSL reads pads right since ROCm/aiter#3401. Whether that ends MiniMax-M3's reason for the workaround is not known.
"""

from aiter_compat.migration_matching import calls, keyword_value
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="expired workaround",
    symbol="aiter.fused_moe.fused_moe",
    detail="intermediate_pad",
    since="0.1.16",
    remedy="Measure again without it; aiter_compat.resolve_padding derives the true pad.",
    source="ROCm/aiter#3401; ROCm/aiter v0.1.16 aiter/fused_moe.py",
    matches=lambda use: calls(use, "aiter.fused_moe.fused_moe") and keyword_value(use, "intermediate_pad") == "0",
)
