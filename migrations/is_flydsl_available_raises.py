"""is_flydsl_available imports flydsl since v0.1.16, and raises what that raises; before, it only looked for it.

A flydsl that is newer than AITER's pin ends it with an ImportError (ROCm/aiter#5116 deletes the module later).
"""

from aiter_compat.migration_matching import calls
from aiter_compat.migration_model import Migration

_SURVIVES = frozenset({"*", "Exception", "BaseException", "ImportError"})

MIGRATION = Migration(
    kind="probing idiom",
    symbol="aiter.ops.flydsl.utils.is_flydsl_available",
    since="0.1.16",
    remedy="Ask aiter_compat.supports for the capability that is meant.",
    source="ROCm/aiter v0.1.16 aiter/ops/flydsl/utils.py; ROCm/aiter#5116",
    matches=lambda use: (
        calls(use, "aiter.ops.flydsl.utils.is_flydsl_available") and use.place.caught.isdisjoint(_SURVIVES)
    ),
)
