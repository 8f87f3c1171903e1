"""QuantType has per_256x128 and per_1024x128 since v0.1.12."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="enum member",
    symbol="aiter.ops.enum.QuantType",
    detail="per_256x128",
    since="0.1.12",
    remedy="Take the member from aiter_compat.QuantType.",
    source="ROCm/aiter v0.1.12 csrc/include/aiter_enum.h",
)
