"""moe_sorting_dispatch_policy is a number since v0.1.13; the operator of older releases takes it as a bool.

A policy above 1 is refused by the operator's schema until v0.1.12.post2.
"""

from aiter_compat.migration_matching import calls, keyword_value
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="changed meaning",
    symbol="aiter.fused_moe.fused_moe",
    detail="moe_sorting_dispatch_policy",
    since="0.1.13",
    remedy="Call aiter_compat.fused_moe, or leave the policy out on older releases.",
    source="ROCm/aiter v0.1.13 aiter/fused_moe.py",
    matches=lambda use: (
        calls(use, "aiter.fused_moe.fused_moe")
        and keyword_value(use, "moe_sorting_dispatch_policy").isdigit()
        and int(keyword_value(use, "moe_sorting_dispatch_policy")) > 1
    ),
)
