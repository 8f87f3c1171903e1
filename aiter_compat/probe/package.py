"""The modules of an installed AITER or of a source tree, read from files one by one as they are asked for."""

from __future__ import annotations

import ast
import re
import warnings

from aiter_compat.detect.search import NAME
from aiter_compat.detect.trees import Stamp, Tree
from aiter_compat.probe.module_names import ModuleNames
from aiter_compat.probe.module_source import names_in

_STAR = re.compile(rb"^[ \t]*from[^\n#]+import[ \t]*\*", re.MULTILINE)
_MODULE_SUFFIX = ".py"

# Per path: what the file binds, and the stamp that it had then.
_read: dict[str, tuple[Stamp, ModuleNames]] = {}


class Package:
    """A package `aiter`, nothing of which is imported or executed. Satisfies `probe.lookup.Modules`.

    A file is parsed only when the name that is asked for occurs in it, or when it imports all names of others; what it
    told is remembered for as long as its path, size and modification time stay the same.

    Args:
        tree: the folder of the package, open for as long as this object is used.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def has_module(self, name: str) -> bool:
        """Whether there is a file or a folder for the module; a folder without `__init__` is importable too."""
        return self._file(name) is not None or self._is_folder(name)

    def names(self, module: str, wanted: str) -> ModuleNames | None:
        """The names of a module; only those that matter for `wanted`. An unparsable file binds nothing."""
        file = self._file(module)
        if file is None:
            return ModuleNames(module) if self._is_folder(module) else None
        stamp, path = self._tree.stamp(file), self._tree.path(file)
        known = _read.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        content = self._tree.read(file)
        if content is None or (wanted.encode() not in content and _STAR.search(content) is None):
            return ModuleNames(module)
        try:
            found = parse_module(content, module, is_package=file.endswith("__init__.py"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found = ModuleNames(module)
        if stamp is not None:
            _read[path] = stamp, found
        return found

    def modules(self) -> dict[str, str]:
        """Every module that has a file: dotted name -> name of the file in the tree."""
        found: dict[str, str] = {}
        folders = [""]
        while folders:
            folder = folders.pop()
            for entry in self._tree.names(folder):
                name = f"{folder}/{entry}" if folder else entry
                if entry.endswith(_MODULE_SUFFIX) and entry[: -len(_MODULE_SUFFIX)].isidentifier():
                    found[_module_name(name)] = name
                elif entry.isidentifier() and self._tree.is_folder(name):
                    folders.append(name)
        return {name: found[name] for name in sorted(found)}

    def _file(self, module: str) -> str | None:
        package, _, inner = module.partition(".")
        if package != NAME:
            return None
        stem = inner.replace(".", "/")
        candidates = (f"{stem}/__init__.py", f"{stem}.py") if stem else ("__init__.py",)
        return next((name for name in candidates if self._tree.is_file(name)), None)

    def _is_folder(self, module: str) -> bool:
        package, _, inner = module.partition(".")
        return package == NAME and (not inner or self._tree.is_folder(inner.replace(".", "/")))


def parse_module(content: bytes, module: str, *, is_package: bool) -> ModuleNames:
    """The names that a source binds.

    Raises:
        SyntaxError: it is no Python, or Python of a later version.
        ValueError: it holds a null byte.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in someone else's strings
        statements = ast.parse(content).body
    return names_in(statements, module, is_package=is_package)


def _module_name(file: str) -> str:
    parts = file[: -len(_MODULE_SUFFIX)].split("/")
    return ".".join([NAME, *(parts[:-1] if parts[-1] == "__init__" else parts)])
