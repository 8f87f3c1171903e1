"""qr_get_handle writes the handle to an address since v0.1.19.post1 instead of returning it."""

from aiter_compat.migration_matching import calls
from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="return shape",
    symbol="aiter.qr_get_handle",
    since="0.1.19.post1",
    remedy="Ask for one contract: aiter_compat.load('aiter.qr_get_handle', contract=...).",
    source="ROCm/aiter v0.1.19.post1 aiter/ops/quick_all_reduce.py",
    matches=lambda use: calls(use, "aiter.qr_get_handle"),
)
