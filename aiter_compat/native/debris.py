"""What a failed import of AITER leaves behind in `sys.modules` and `sys.path`, and how to take it away again."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

_PACKAGES = ("aiter", "aiter_meta")
# Folders that a person may name for AITER, which then heads sys.path with them (aiter/jit/core.py, v0.1.9 on).
_VARIABLES = ("AITER_JIT_DIR", "AITER_META_DIR")


@dataclass(frozen=True)
class Snapshot:
    """Names in `sys.modules` and entries of `sys.path` before an attempt."""

    modules: frozenset[str]
    path: tuple[str, ...]

    @classmethod
    def take(cls) -> Snapshot:
        """Note what is there now."""
        return cls(frozenset(sys.modules), tuple(sys.path))

    def restore(self, parent: str, *, keep_package: bool) -> None:
        """Remove what AITER added; what other code added in the meantime stays.

        Args:
            parent: folder that holds the `aiter` package (and its sibling `aiter_meta`).
            keep_package: `aiter` itself was imported and only a submodule failed: then its modules stay, because
                importing them a second time would register AITER's torch operators twice.
        """
        parent = os.path.abspath(parent)
        roots = tuple(os.path.join(parent, package) + os.sep for package in _PACKAGES)
        if not keep_package:
            for name, module in list(sys.modules.items()):
                if name not in self.modules and _belongs(name, module, roots):
                    del sys.modules[name]
        # AITER inserts at the head, so what was there before is the last of several equal entries. It also inserts the
        # parent itself when it finds no aiter_meta, which would move all of site-packages to the front.
        folders = {parent, *(os.path.abspath(os.environ[name]) for name in _VARIABLES if os.environ.get(name))}
        before = Counter(self.path)
        kept: list[str] = []
        for entry in reversed(sys.path):
            if _below(entry, roots) or _is_one_of(entry, folders):
                if not before[entry]:
                    continue
                before[entry] -= 1
            kept.append(entry)
        sys.path[:] = reversed(kept)


def _belongs(name: str, module: ModuleType | None, roots: tuple[str, ...]) -> bool:
    if name.partition(".")[0] in _PACKAGES:
        return True
    namespace: Mapping[str, object] = getattr(module, "__dict__", {})
    file = namespace.get("__file__")
    return isinstance(file, str) and _below(file, roots)


def _below(path: object, roots: tuple[str, ...]) -> bool:
    return isinstance(path, str) and os.path.join(os.path.abspath(path), "").startswith(roots)


def _is_one_of(path: object, folders: set[str]) -> bool:
    return isinstance(path, str) and os.path.abspath(path) in folders
