"""fused_moe takes swiglu_limit, with 0.0 for "the activation's own".

Hosts that pass it always (vLLM 0.33.0 does) fail on v0.1.13 with TypeError.
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="new keyword",
    symbol="aiter.fused_moe.fused_moe",
    detail="swiglu_limit",
    since="0.1.14",
    remedy="Call aiter_compat.fused_moe, which leaves it out where it is the activation's own limit.",
    source="ROCm/aiter v0.1.14 aiter/fused_moe.py",
)
