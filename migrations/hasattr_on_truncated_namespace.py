"""hasattr(aiter, ...) is also False where AITER failed to load: v0.1.12 and v0.1.14 swallow errors of their own import.

The namespace is then truncated and only a warning says so (ROCm/aiter#2870).
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="probing idiom",
    symbol="aiter",
    since="0.1.12",
    until="0.1.15",
    spared=("0.1.13", "0.1.13.post1"),
    remedy="Ask aiter_compat.locate for what the release has, and let aiter_compat report a broken import.",
    source="ROCm/aiter v0.1.14 aiter/__init__.py; ROCm/aiter#2870",
    matches=lambda use: use.kind == "probe" and any(target.path.count(".") == 1 for target in use.targets),
)
