"""Numbers of QuantType and ActivationType are not stable: v0.1.2 put per_1x32 at 3, where per_1x128 was.

per_1x128 went from 3 to 4 and per_128x128 from 4 to 5. A compiled enum takes any number without an error, so a wrong
one shows as a wrong result. ROCm/aiter#3972 and ROCm/aiter#4620 propose different numbers for one activation.
"""

from aiter_compat.migration_matching import ENUMS, calls_any, first_is_number
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="enum value",
    symbol="aiter.QuantType",
    detail="per_1x128",
    since="0.1.2",
    remedy="Use the member's name; aiter_compat.fused_moe takes it as text.",
    source="ROCm/aiter v0.1.2 csrc/include/aiter_enum.h",
    matches=lambda use: calls_any(use, ENUMS) and first_is_number(use),
)
