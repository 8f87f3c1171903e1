"""Distributions whose metadata on the path speaks of aiter, and which files each of them owns.

Reads `*.dist-info` and `*.egg-info` (folder or file) in each path entry, `EGG-INFO` in an entry that is an egg.
`importlib.metadata` would read the same files, but importing it alone takes longer than detection may.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from aiter_compat.detect.editable import written_targets
from aiter_compat.detect.search import NAME
from aiter_compat.detect.trees import Tree, open_tree, resolved

AMD_NAME = "amd-aiter"  # from v0.1.8 on; "aiter" before
OLD_NAME = "aiter"

_METADATA_FOLDER = re.compile(r"(?P<name>.+?)(?:-(?P<version>\d[^-]*).*)?\.(?:dist-info|egg-info)", re.IGNORECASE)
_FOREIGN_AUTHOR = "richardkiss"  # of PyPI's aiter; in its Home-page and Author-email

Claim = Literal["no", "beside", "listed", "editable"]


class Distribution(NamedTuple):
    """One distribution's metadata.

    Attributes:
        name: normalised name (`amd-aiter`).
        version: as its metadata states it, None without.
        metadata: path of the metadata folder or file.
        root: the path entry that holds it, which is what the paths in its file list are relative to.
        foreign: its metadata is that of PyPI's async-iterator package.
        listed: files under `aiter/` that it lists, with the listed size and hash ("" where not given); None when it
            has no list of files.
        editable_target: folder that it was installed from in place, or None.
        path_files: `.pth` files and finder modules that an editable install left, as it lists them.
    """

    name: str
    version: str | None
    metadata: str
    root: str
    foreign: bool = False
    listed: dict[str, tuple[str, str]] | None = None
    editable_target: str | None = None
    path_files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version or '(no version)'}"

    def claim_on(self, location: str, marker: str) -> Claim:
        """How the package at `location` belongs to this distribution.

        Args:
            location: folder of the package.
            marker: a file of it, relative to its parent (`aiter/fused_moe.py`), that tells what it is.

        Returns:
            "editable": installed in place from a folder around it; "listed": its list of files names the marker;
            "beside": it lies in the same folder, and no list of files says otherwise; "no".
        """
        if self.editable_target is not None or self.path_files:
            return "editable" if self._installed_in_place(location) else "no"
        if resolved(os.path.dirname(location)) != resolved(self.root):
            return "no"
        if self.listed and marker in self.listed:
            return "listed"
        # A list that names other files of the package is that of what was here before, unless nobody but AMD has
        # distributed under this name.
        return "no" if self.listed and self.name == OLD_NAME else "beside"

    def _installed_in_place(self, location: str) -> bool:
        if self.editable_target is not None and _within(location, self.editable_target):
            return True
        targets = (resolved(target) for target in written_targets(self.root, self.path_files))
        return resolved(location) in targets

    def matches_content(self, marker: str, path: str) -> bool:
        """Whether the file at `path` has the size and hash with which this distribution lists it as `marker`."""
        size, digest = (self.listed or {}).get(marker, ("", ""))
        if not size and not digest:
            return False
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            return False
        if size and size != str(len(content)):
            return False
        return not digest or digest == _record_hash(digest, content)


def distributions(entries: Iterable[str]) -> list[Distribution]:
    """Distributions in these path entries that are called aiter or amd-aiter, and forks that list aiter's files."""
    found: dict[str, Distribution] = {}
    for entry in entries:
        tree = open_tree(entry)
        if tree is None:
            continue
        with tree:
            names = tree.names()
            candidates = [name for name in sorted(names) if NAME in name.lower() and _is_metadata(name)]
            if entry.endswith(".egg") and NAME in os.path.basename(entry).lower():
                candidates.append("EGG-INFO")
            for name in candidates:
                distribution = _read(tree, name)
                if distribution.name in (AMD_NAME, OLD_NAME) or distribution.listed:
                    found.setdefault(resolved(distribution.metadata), distribution)
    return list(found.values())


def _is_metadata(name: str) -> bool:
    # pip renames what it is about to remove to "~md_aiter-...", and leaves it there when interrupted.
    return not name.startswith("~") and _METADATA_FOLDER.fullmatch(name) is not None


def _read(tree: Tree, name: str) -> Distribution:
    if name == "EGG-INFO":
        named = _METADATA_FOLDER.fullmatch(f"{os.path.basename(tree.location)[: -len('.egg')]}.egg-info")
    else:
        named = _METADATA_FOLDER.fullmatch(name)
    text = tree.read_text(name) if tree.is_file(name) else tree.read_text(f"{name}/METADATA")
    if text is None:
        text = tree.read_text(f"{name}/PKG-INFO") or ""
    fields = _header(text)
    file_name, file_version = (named["name"], named["version"]) if named else (OLD_NAME, None)
    listed, path_files = _listed_files(tree, name)
    return Distribution(
        name=re.sub(r"[-_.]+", "-", fields.get("name") or file_name).lower(),
        version=fields.get("version") or file_version,
        metadata=tree.path(name),
        root=tree.location,
        foreign=_FOREIGN_AUTHOR in " ".join(fields.values()).lower(),
        listed=listed,
        editable_target=_editable_target(tree.read_text(f"{name}/direct_url.json")),
        path_files=path_files,
    )


def _header(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            break
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            fields.setdefault(key.strip().lower(), value.strip())
    return fields


def _listed_files(tree: Tree, name: str) -> tuple[dict[str, tuple[str, str]] | None, tuple[str, ...]]:
    lists = ((file, tree.read_text(f"{name}/{file}")) for file in ("RECORD", "installed-files.txt", "SOURCES.txt"))
    file, text = next(((file, text) for file, text in lists if text), ("", None))
    if text is None:
        return None, ()
    listed: dict[str, tuple[str, str]] = {}
    path_files = []
    for line in text.splitlines():
        path, digest, size = (*line.split(","), "", "")[:3]
        if file == "installed-files.txt":
            path = path.removeprefix("../")  # relative to the metadata folder, not to the path entry
        if path.startswith(f"{NAME}/"):
            listed[path] = (size, digest)
        elif path.startswith("__editable__"):
            path_files.append(path)
    return listed, tuple(path_files)


def _editable_target(direct_url: str | None) -> str | None:
    if direct_url is None:
        return None
    import json

    try:
        plain = json.loads(direct_url)
    except ValueError:
        return None
    if not isinstance(plain, dict) or not isinstance(plain.get("dir_info"), dict):
        return None
    url = plain.get("url")
    if plain["dir_info"].get("editable") is not True or not isinstance(url, str) or not url.startswith("file://"):
        return None
    path = url[len("file://") :].removeprefix("localhost")
    if "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    return path


def _within(path: str, folder: str) -> bool:
    path, folder = resolved(path), resolved(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _record_hash(listed: str, content: bytes) -> str:
    import base64
    import hashlib

    algorithm = listed.partition("=")[0]
    if algorithm not in hashlib.algorithms_guaranteed or algorithm.startswith("shake"):
        return ""
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=").decode("ascii")
    return f"{algorithm}={digest}"
