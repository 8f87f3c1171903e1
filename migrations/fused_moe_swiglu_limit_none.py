"""fused_moe's swiglu_limit defaults to None since v0.1.17, and 0.0 is no longer the same as leaving it out.

From v0.1.14 to v0.1.16 it is 0.0, which means "the activation's own", and None is refused by the operator's schema.
Since v0.1.17 the reference path really clamps at 0.0.
"""

from aiter_compat.migration_matching import calls, keyword_value
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="changed default",
    symbol="aiter.fused_moe.fused_moe",
    detail="swiglu_limit",
    since="0.1.17",
    remedy="Call aiter_compat.fused_moe, which translates None, 0.0 and numbers for each release.",
    source="ROCm/aiter v0.1.17 aiter/fused_moe.py",
    matches=lambda use: (
        calls(use, "aiter.fused_moe.fused_moe") and keyword_value(use, "swiglu_limit") in ("0", "0.0", "None")
    ),
)
