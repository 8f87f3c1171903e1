"""One file per upstream change of AITER that a host can meet; ships as `aiter_compat.migrations`.

Each file is named after what changed, says so in its docstring with the AITER tag and a public source, and holds one
`MIGRATION`. They are found by discovery: adding a file is all it takes. Moves that AITER's own tables or the release
records tell are in `aiter_compat.symbols`, and need no file here.
"""

from __future__ import annotations

import importlib
import pkgutil

from aiter_compat.migration_model import Kind, Migration

__all__ = ["Kind", "Migration", "discover"]


def discover() -> tuple[Migration, ...]:
    """Every migration in this package, in the order of the releases that brought the change, then by name."""
    found = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        found.append(module.MIGRATION.named(info.name, module.__doc__ or ""))
    return tuple(sorted(found, key=Migration.sort_key))
