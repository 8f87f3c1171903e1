"""The Gluon MLA kernel is aiter.ops.triton.gluon.mla_gluon since v0.1.18; it was mla_decode_gluon."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="renamed symbol",
    symbol="aiter.ops.triton.gluon.mla_decode_gluon",
    detail="aiter.ops.triton.gluon.mla_gluon",
    since="0.1.18",
    remedy="Find it with aiter_compat.load, which knows both names.",
    source="ROCm/aiter v0.1.18 aiter/ops/triton/gluon/mla_gluon.py",
)
