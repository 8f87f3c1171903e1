"""Where the imports of a host's file lead: to AITER, to another file of the host, or out of sight."""

from __future__ import annotations

import ast

from aiter_compat.hostscan.model import HOST

_AITER = "aiter"


class Imports:
    """The imports of one file.

    Args:
        module: dotted name of the file.
        is_package: whether it is an `__init__.py`, which relative imports start from.
        own: top-level names of the host's packages.
    """

    def __init__(self, module: str, *, is_package: bool, own: frozenset[str]) -> None:
        self._package = module if is_package else module.rpartition(".")[0]
        self._own = own

    def absolute(self, name: str) -> str | None:
        """The path that `import name` leads to; None for a package that is neither AITER nor the host's."""
        first = name.partition(".")[0]
        if first in self._own and first != _AITER:
            return HOST + name
        return name if first == _AITER else None

    def source(self, node: ast.ImportFrom) -> str | None:
        """The module that `from … import` names, likewise."""
        if not node.level:
            return self.absolute(node.module or "")
        parts = self._package.split(".") if self._package else []
        if node.level > len(parts):
            return None
        parts = parts[: len(parts) - node.level + 1]
        return HOST + ".".join([*parts, *([node.module] if node.module else [])])
