"""The `aiter` that the host process has already imported, looked at without touching its attributes.

A module may have a `__getattr__`, or be a lazy stand-in that imports on the first attribute access: only its
`__dict__` is read.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from aiter_compat.detect.search import NAME, Found

_TELLING_ATTRIBUTES = ("fused_moe", "ActivationType", "QuantType")


class Imported(NamedTuple):
    """What `sys.modules` holds under the name.

    Attributes:
        found: where its files are; None for a module made in memory.
        blocked: `sys.modules["aiter"] is None`, which makes every import of it fail.
        looks_like_aiter: a module made in memory has AITER's sub-modules or names.
    """

    found: Found | None
    blocked: bool = False
    looks_like_aiter: bool = False


def imported() -> Imported | None:
    """The entry of `sys.modules`, or None when there is none."""
    if NAME not in sys.modules:
        return None
    module: Any = sys.modules[NAME]
    if module is None:
        return Imported(None, blocked=True)
    attributes = _attributes(module)
    found = _by_spec(attributes.get("__spec__")) or _by_attributes(attributes)
    if found is not None:
        return Imported(found)
    has_parts = any(name.startswith(f"{NAME}.") and part is not None for name, part in list(sys.modules.items()))
    return Imported(None, looks_like_aiter=has_parts or any(name in attributes for name in _TELLING_ATTRIBUTES))


def _attributes(module: object) -> dict[str, Any]:
    try:
        attributes = object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}
    return attributes if isinstance(attributes, dict) else {}


def _by_spec(spec: Any) -> Found | None:
    attributes = _attributes(spec)
    origin, portions = attributes.get("origin"), attributes.get("submodule_search_locations")
    if isinstance(origin, str) and os.path.isabs(origin):
        return _by_file(origin, is_package=portions is not None)
    return _namespace(portions) if origin is None else None


def _by_attributes(attributes: dict[str, Any]) -> Found | None:
    file, portions = attributes.get("__file__"), attributes.get("__path__")
    if isinstance(file, str) and file:
        return _by_file(file, is_package=portions is not None)
    return _namespace(portions)


def _by_file(file: str, *, is_package: bool) -> Found:
    path = os.path.abspath(file)
    if is_package or os.path.basename(path).startswith("__init__."):
        return Found("package", os.path.dirname(path))
    return Found("module", path)


def _namespace(portions: Any) -> Found | None:
    folders = tuple(os.path.abspath(part) for part in portions or () if isinstance(part, str))
    if not folders:
        return None
    if os.path.isfile(os.path.join(folders[0], "__init__.py")):
        return Found("package", folders[0])
    return Found("namespace", folders[0], folders)
