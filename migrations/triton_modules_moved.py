"""Modules of aiter.ops.triton moved into packages in v0.1.10; under their old names they are executed a second time.

AITER's finder for old names (`aiter/ops/triton/__init__.py`) makes another module of the same file, so caches of tuned
kernels, classes and registered operators exist twice.
"""

from functools import cache

from aiter_compat.hostscan import Use
from aiter_compat.migration_model import Migration
from aiter_compat.releases.symbol_records import symbol_record, symbol_releases

_PACKAGE = "aiter.ops.triton"


@cache
def _old_names() -> frozenset[str]:
    """Paths that only the finder of the newest recorded release serves."""
    newest = symbol_record(symbol_releases()[-1])
    names = newest.names(_PACKAGE)
    lazy = () if names is None else names.lazy
    return frozenset(path for path in (f"{_PACKAGE}.{name}" for name in lazy) if not newest.has_module(path))


def _imports_old_name(use: Use) -> bool:
    if use.kind != "import":
        return False
    return use.module in _old_names() or any(target.path in _old_names() for target in use.targets)


MIGRATION = Migration(
    kind="moved symbol",
    symbol="aiter.ops.triton.gemm_afp4wfp4",
    detail="aiter.ops.triton.gemm.basic.gemm_afp4wfp4",
    since="0.1.10",
    remedy="Import it from where it is now: `aiter-compat migrate --aiter` does so, or aiter_compat.load.",
    source="ROCm/aiter v0.1.10 aiter/ops/triton/__init__.py",
    matches=_imports_old_name,
)
