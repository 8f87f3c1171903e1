"""One import for AMD's AITER fused MoE: every release, every call the same, and a faithful emulation without ROCm.

Importing this package imports neither torch nor aiter and starts no process; each public name is loaded when it is
first touched. The first touch of an enum, or a call, may import AITER; `installation()`, `surface()`,
`capabilities()`, names and integers never do.
"""

from __future__ import annotations

import importlib

from aiter_compat._exports import ENUMS, EXPORTS

TYPE_CHECKING = False  # importing typing would cost more than all the rest of this import
if TYPE_CHECKING:
    from typing import Any

__all__ = [*sorted(EXPORTS), *ENUMS]  # noqa: PLE0604 - names of the lazy table


def __getattr__(name: str) -> Any:
    if name in ENUMS:  # not bound here: refresh() may put another class in its place
        from aiter_compat.enums import enum_class

        return enum_class(name)
    try:
        module, attribute = EXPORTS[name]
    except KeyError:
        raise AttributeError(f"module 'aiter_compat' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
