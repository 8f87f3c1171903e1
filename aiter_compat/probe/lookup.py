"""Follow a dotted path through the modules of an AITER to where its symbol is defined, as Python's imports would.

Re-exports (`from .ops.mha import *` in `aiter/__init__.py`), AITER's lazy tables and its finder for old module names
all lead to the one place that defines a symbol. It works on anything that can tell the names of a module: installed
files, or a record.
"""

from __future__ import annotations

from typing import Protocol

from aiter_compat.probe.model import Symbol
from aiter_compat.probe.module_names import ModuleNames


class Modules(Protocol):
    """The modules of one AITER."""

    def has_module(self, name: str) -> bool:
        """Whether there is a module or package of that dotted name."""

    def names(self, module: str, wanted: str) -> ModuleNames | None:
        """The names of a module; those that have nothing to do with `wanted` may be missing. None: no such module."""


def find(modules: Modules, path: str) -> Symbol | None:
    """The symbol that `path` leads to, under the path where it is defined; None when it leads nowhere.

    Args:
        modules: where to look.
        path: dotted, such as `aiter.flash_attn_varlen_func`. The last part may be a module, a function, a class, an
            enum or a variable; attributes of classes are not followed.
    """
    first, *rest = path.split(".")
    if not modules.has_module(first):
        return None
    module = first
    for position, part in enumerate(rest):
        if position == len(rest) - 1:
            return _attribute(modules, module, part, frozenset())
        inner = f"{module}.{part}"
        if not modules.has_module(inner):  # a name bound to a module (`aiter.dtypes`), or an old module name
            led_to = _attribute(modules, module, part, frozenset())
            if led_to is None or led_to.kind != "module":
                return None
            inner = led_to.path
        module = inner
    return Symbol(module, "module")


def _attribute(modules: Modules, module: str, name: str, seen: frozenset[tuple[str, str]]) -> Symbol | None:
    """What `from module import name` gives."""
    bound = _bound(modules, module, name, seen)
    if bound is not None:
        return bound
    inner = f"{module}.{name}"
    return Symbol(inner, "module") if modules.has_module(inner) else None


def _bound(modules: Modules, module: str, name: str, seen: frozenset[tuple[str, str]]) -> Symbol | None:
    if (module, name) in seen:  # `from . import name` in the package itself, or modules that import each other
        return None
    seen |= {(module, name)}
    names = modules.names(module, name)
    if names is None:
        return None
    if name in names.imports:
        imported = _led_to(modules, names.imports[name], seen)
        if imported is not None:
            return imported
    if name in names.symbols:
        return names.symbols[name]
    for source in reversed(names.stars):
        star = modules.names(source, name)
        if star is not None and star.star_gives(name):
            given = _bound(modules, source, name, seen)
            if given is not None:
                return given
    lazy = names.lazy.get(name)
    return None if lazy is None else _led_to(modules, lazy, seen)


def _led_to(modules: Modules, path: str, seen: frozenset[tuple[str, str]]) -> Symbol | None:
    module, _, name = path.rpartition(".")
    if module and modules.has_module(module):
        return _attribute(modules, module, name, seen)
    return Symbol(path, "module") if modules.has_module(path) else None
