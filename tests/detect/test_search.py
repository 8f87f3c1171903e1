"""The search gives what Python's own import machinery gives, for every mixture of what path entries can hold."""

from __future__ import annotations

import importlib
import os
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from itertools import product

import pytest

from aiter_compat.detect.search import search

CONTENTS = {
    "nothing": (),
    "other": ("other/__init__.py",),
    "bare": ("aiter/README.md",),
    "clone": ("aiter/aiter/__init__.py",),
    "module": ("aiter.py",),
    "package": ("aiter/__init__.py",),
    "compiled package": (f"aiter/__init__{EXTENSION_SUFFIXES[0]}",),
    "byte code": ("aiter/__init__.pyc",),
    "package and module": ("aiter/__init__.py", "aiter.py"),
    "bare and module": ("aiter/README.md", "aiter.py"),
    "folder called like a file": ("aiter/__init__.py/x",),
}


def _python_finds(path: list[str]) -> tuple[str, str] | None:
    importlib.invalidate_caches()
    spec = PathFinder.find_spec("aiter", path)
    if spec is None:
        return None
    if spec.loader is None:
        return "namespace", next(iter(spec.submodule_search_locations))
    if spec.submodule_search_locations is not None:
        return "package", os.path.dirname(spec.origin)
    return "module", spec.origin


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Path entries by what they hold: a folder, and where zipimport can read it an archive."""
    made: dict[str, list[str]] = {}
    for index, (content, names) in enumerate(CONTENTS.items()):
        folder = tmp_path_factory.mktemp(f"entry{index}")
        made[content] = [str(folder)]
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        if names and content != "byte code":  # zipimport wants byte code that is valid
            archive = folder.with_suffix(".zip")
            with zipfile.ZipFile(archive, "w") as file:
                if content == "bare":
                    file.write(folder / "aiter", "aiter/")  # not every archive lists its folders
                for name in names:
                    file.write(folder / name, name)
            made[content].append(str(archive))
    return made


@pytest.mark.parametrize("first", CONTENTS)
def test_search_agrees_with_import(entries, first):
    for second in CONTENTS:
        for path in map(list, product(entries[first], entries[second])):
            found = search(path)
            assert (None if found is None else (found.kind, found.location)) == _python_finds(path), path
