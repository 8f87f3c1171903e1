"""fused_moe takes beta and linear_beta since v0.1.19, before gate_mode, which moves from position 24 to 26.

A host that passes gate_mode by position passes it as beta.
"""

from aiter_compat.migration_matching import calls, positional
from aiter_compat.migration_model import Migration

_POSITION_OF_SWIGLU_LIMIT = 23

MIGRATION = Migration(
    kind="positional order",
    symbol="aiter.fused_moe.fused_moe",
    detail="gate_mode",
    since="0.1.19",
    remedy="Pass gate_mode by keyword, as aiter_compat.fused_moe requires.",
    source="ROCm/aiter v0.1.19 aiter/fused_moe.py",
    matches=lambda use: calls(use, "aiter.fused_moe.fused_moe") and positional(use) > _POSITION_OF_SWIGLU_LIMIT,
)
