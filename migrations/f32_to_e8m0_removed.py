"""f32_to_e8m0 left aiter.utility.fp4_utils in v0.1.16; f32_to_mx_e8m0_scale and fp4_f32_to_e8m0_scale came."""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="removed symbol",
    symbol="aiter.utility.fp4_utils.f32_to_e8m0",
    since="0.1.16",
    remedy="Use aiter_compat.quantize, whose numerics profile names the scale rule.",
    source="ROCm/aiter v0.1.16 aiter/utility/fp4_utils.py",
)
