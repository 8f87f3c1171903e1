"""Editable installs, read from the files that installers leave and from the finders that they have registered.

Three forms exist for setuptools, AITER's build backend, and all end in a folder outside site-packages:

* a `.pth` file with a plain path line (`setup.py develop`; `editable_mode=compat`; `strict`, through a folder of
  links);
* a `.pth` file that imports a generated `__editable___*_finder` module, whose `MAPPING` names the folders (the
  default);
* an `.egg-link` beside an `easy-install.pth` (old `setup.py develop`).

Nothing is executed: a finder that Python has already loaded is looked at through its module's `MAPPING`, one that it
has not is read as text. Finders of other makers are not asked, since asking runs their code.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from importlib.machinery import all_suffixes

from aiter_compat.detect.search import NAME, Found
from aiter_compat.detect.trees import FolderTree, resolved

_FINDER_MODULE = re.compile(r"__editable___\w+_finder")
_MAPPING = re.compile(r"^MAPPING\b[^=\n]*=\s*(\{.*?\})\s*$", re.MULTILINE | re.DOTALL)


def registered_mappings() -> list[str]:
    """Folders (or files) that the finders on `sys.meta_path` map `aiter` to, in the order in which import asks them."""
    targets = []
    for finder in sys.meta_path:
        name = (finder if isinstance(finder, type) else type(finder)).__module__
        if _FINDER_MODULE.fullmatch(name) and name in sys.modules:
            mapping = vars(sys.modules[name]).get("MAPPING")
            target = mapping.get(NAME) if isinstance(mapping, dict) else None
            if isinstance(target, str):
                targets.append(target)
    return targets


def written_mappings(site: str) -> list[str]:
    """As `registered_mappings`, from the finder modules that lie in the folder `site`."""
    names = sorted(FolderTree(site).names())
    return [target for name in names if (target := _mapped(site, name)) is not None]


def written_targets(site: str, path_files: Iterable[str]) -> list[str]:
    """Where the named `.pth` files and finder modules of `site` say that the package `aiter` is."""
    targets = []
    for name in path_files:
        mapped = _mapped(site, name)
        if mapped is not None:
            targets.append(mapped)
        if name.endswith(".pth"):
            targets += [os.path.join(folder, NAME) for folder in _lines(site, name)]
    return targets


def path_lines(site: str) -> list[str]:
    """Folders that the `.pth` files of `site` add to the path; lines that would run code are passed over."""
    names = sorted(FolderTree(site).names())
    return [folder for name in names if name.endswith(".pth") and name[0] != "." for folder in _lines(site, name)]


def linked_folders(entries: Iterable[str]) -> frozenset[str]:
    """Folders that egg-link files in these path entries point to, links in them resolved."""
    folders = set()
    for entry in entries:
        tree = FolderTree(entry)
        for name in tree.names():
            if name.endswith(".egg-link"):
                first = (tree.read_text(name) or "").partition("\n")[0].strip()
                if first:
                    folders.add(resolved(os.path.join(entry, first)))
    return frozenset(folders)


def found_at(target: str) -> Found | None:
    """What a mapping's target holds: a folder with an `__init__` file, or a module, whose suffix the target lacks."""
    inside = FolderTree(target).names()
    if any(f"__init__{suffix}" in inside for suffix in all_suffixes()):
        return Found("package", target)
    for suffix in all_suffixes():
        if os.path.isfile(target + suffix):
            return Found("module", target + suffix)
    return None


def _lines(site: str, name: str) -> list[str]:
    folders = []
    for line in (FolderTree(site).read_text(name) or "").splitlines():
        text = line.rstrip()
        if text and not text.startswith(("#", "import ", "import\t")):
            folder = os.path.abspath(os.path.join(site, text))
            if os.path.exists(folder):
                folders.append(folder)
    return folders


def _mapped(site: str, name: str) -> str | None:
    if not name.endswith(".py") or not _FINDER_MODULE.fullmatch(name[: -len(".py")]):
        return None
    return _mapping_in(FolderTree(site).read_text(name) or "").get(NAME)


def _mapping_in(source: str) -> dict[str, str]:
    written = _MAPPING.search(source)
    if written is None:
        return {}
    import ast

    try:
        mapping = ast.literal_eval(written.group(1))
    except (ValueError, SyntaxError):
        return {}
    return {key: value for key, value in mapping.items() if isinstance(key, str) and isinstance(value, str)}
