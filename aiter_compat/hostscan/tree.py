"""The Python files of a host's tree, and the names under which the host imports them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from aiter_compat.errors import InvalidArgument

_SKIPPED = frozenset(
    {"__pycache__", "node_modules", ".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", ".mypy_cache"}
)
_WORD = re.compile(rb"(?<![A-Za-z0-9])aiter(?![A-Za-z0-9])")
_MARKER = "pyvenv.cfg"


@dataclass(frozen=True)
class SourceFile:
    """One file of the tree.

    Attributes:
        path: where it is.
        name: relative to the tree, with forward slashes.
        module: dotted name under which the host imports it.
    """

    path: str
    name: str
    module: str

    def read(self) -> bytes | None:
        """Its content; None when it cannot be read."""
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except OSError:
            return None


def source_files(root: str, exclude: tuple[str, ...] = ()) -> list[SourceFile]:
    """Every Python file below `root`, sorted by name; links out of the tree are not followed.

    Args:
        root: a folder, or one file.
        exclude: glob patterns of relative names to leave out.

    Raises:
        InvalidArgument: there is no such folder or file.
    """
    if os.path.isfile(root):
        name = os.path.basename(root)
        return [SourceFile(root, name, _module(root))]
    if not os.path.isdir(root):
        raise InvalidArgument("PATH", root, "an existing folder or Python file")
    base = os.path.realpath(root)
    found = [SourceFile(path, os.path.relpath(path, base).replace(os.sep, "/"), "") for path in _python_files(base)]
    kept = [file for file in found if not _matches(file.name, exclude)]
    packages: dict[str, str] = {}
    return [SourceFile(file.path, file.name, _module(file.path, packages)) for file in sorted(kept, key=_name)]


def _name(file: SourceFile) -> str:
    return file.name


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) or name.startswith(pattern.rstrip("/") + "/") for pattern in patterns)


def _python_files(base: str) -> Iterator[str]:
    for folder, folders, files in os.walk(base, followlinks=False):
        folders[:] = [
            name for name in folders if name not in _SKIPPED and not os.path.exists(os.path.join(folder, name, _MARKER))
        ]
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith((".py", ".pyi")) and _inside(path, base) and os.path.isfile(path):
                yield path


def _inside(path: str, base: str) -> bool:
    return not os.path.islink(path) or os.path.realpath(path).startswith(base + os.sep)


def _module(path: str, packages: dict[str, str] | None = None) -> str:
    """The dotted name: from the outermost folder that is a package down to the file."""
    stem = os.path.splitext(os.path.basename(path))[0]
    package = _package(os.path.dirname(os.path.abspath(path)), {} if packages is None else packages)
    if stem == "__init__":
        return package
    return f"{package}.{stem}" if package else stem


def _package(folder: str, known: dict[str, str]) -> str:
    if folder not in known:
        parent = os.path.dirname(folder)
        if parent == folder or not _is_package(folder):
            known[folder] = ""
        else:
            outer = _package(parent, known)
            name = os.path.basename(folder)
            known[folder] = f"{outer}.{name}" if outer else name
    return known[folder]


def _is_package(folder: str) -> bool:
    """A folder with `__init__.py`, or one inside such a folder: packages of a host often lack the file further down."""
    while True:
        if os.path.isfile(os.path.join(folder, "__init__.py")):
            return True
        parent = os.path.dirname(folder)
        if parent == folder or not os.path.basename(folder).isidentifier():
            return False
        folder = parent


def mentions_aiter(content: bytes) -> bool:
    """Whether the word aiter is in a file, alone or as a part of a longer name (`rocm_aiter_ops`)."""
    return _WORD.search(content) is not None
