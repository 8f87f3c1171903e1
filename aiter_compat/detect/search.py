"""Where `import aiter` would find its files on a list of path entries.

Follows `importlib.machinery.PathFinder`: in each entry a package comes before a module, a module before a bare
folder; a bare folder counts only when no later entry holds a package or a module (PEP 420). It reads folder listings
and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.machinery import all_suffixes
from typing import Literal, NamedTuple

from aiter_compat.detect.trees import FolderTree, open_tree

NAME = "aiter"

_ZIPPED_SUFFIXES = (".py", ".pyc")  # zipimport loads no extension modules


class Found(NamedTuple):
    """What an import would bind.

    Attributes:
        kind: "package", "module" (one file) or "namespace" (bare folders).
        location: folder of the package, file of the module, or the first bare folder.
        portions: every bare folder, for a namespace.
    """

    kind: Literal["package", "module", "namespace"]
    location: str
    portions: tuple[str, ...] = ()


def search(entries: Iterable[str]) -> Found | None:
    """What an import of `aiter` would find on these path entries, in their order."""
    portions: list[str] = []
    for entry in entries:
        found = _in_entry(entry)
        if found is None:
            continue
        if found.kind != "namespace":
            return found
        portions.append(found.location)
    return Found("namespace", portions[0], tuple(portions)) if portions else None


def absolute_entries(path: Sequence[object]) -> tuple[str, ...]:
    """The entries of a `sys.path` that an import would look at, absolute, without repetitions.

    "" is the current directory; anything but text and path objects is skipped, as import does.
    """
    kept: dict[str, None] = {}
    for entry in path:
        text = os.fspath(entry) if isinstance(entry, os.PathLike) else entry
        if isinstance(text, str):
            try:
                kept.setdefault(os.path.abspath(text))
            except OSError:  # the current directory, which "" and relative entries start from, is gone
                continue
    return tuple(kept)


def _in_entry(entry: str) -> Found | None:
    tree = open_tree(entry)
    if tree is None:
        return None
    with tree:
        names = tree.names()  # a listing compares case exactly, on every file system
        is_folder = NAME in names and tree.is_folder(NAME)
        inside = tree.names(NAME) if is_folder else frozenset()
        suffixes = all_suffixes() if isinstance(tree, FolderTree) else _ZIPPED_SUFFIXES
        for suffix in suffixes:
            if f"__init__{suffix}" in inside and tree.is_file(f"{NAME}/__init__{suffix}"):
                return Found("package", tree.path(NAME))
        for suffix in suffixes:
            if f"{NAME}{suffix}" in names and tree.is_file(f"{NAME}{suffix}"):
                return Found("module", tree.path(f"{NAME}{suffix}"))
        is_portion = is_folder and (isinstance(tree, FolderTree) or _is_zipped_portion(entry))
        return Found("namespace", tree.path(NAME)) if is_portion else None


def _is_zipped_portion(entry: str) -> bool:
    """Whether zipimport takes the bare folder: not before Python 3.14 unless the archive lists the folder itself."""
    import zipimport

    try:
        return zipimport.zipimporter(entry).find_spec(NAME) is not None
    except zipimport.ZipImportError:
        return False
