"""ActivationType has Swiglu since v0.1.6.post2.

Naming it in a dictionary that is built whatever the activation fails on every older release.
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="enum member",
    symbol="aiter.ops.enum.ActivationType",
    detail="Swiglu",
    since="0.1.6.post2",
    remedy="Pass the name to aiter_compat.fused_moe, or take the member from aiter_compat.ActivationType.",
    source="ROCm/aiter v0.1.6.post2 csrc/include/aiter_enum.h",
)
