"""find_spec("aiter.x.y") imports aiter, and for an old name of a module AITER's finder runs that module.

From v0.1.10 on, `aiter/ops/triton/__init__.py` puts a finder on sys.meta_path; a module that is found under its old and
its new name is executed twice, as two modules.
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="probing idiom",
    symbol="aiter",
    since="0.1.10",
    remedy="Ask aiter_compat.locate, which reads files and imports nothing.",
    source="ROCm/aiter v0.1.10 aiter/ops/triton/__init__.py",
    matches=lambda use: use.kind == "find_spec" and any("." in target.path for target in use.targets),
)
