"""The commit that a git checkout is at and the tags on it, read from git's files; git is not run.

Covers what `git clone`, `git fetch` and `git worktree` leave: a HEAD that names a branch or a commit, loose and packed
references. A loose annotated tag names its tag object, which only git could follow: it is not seen as a tag here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_TAGS = "refs/tags/"


@dataclass(frozen=True)
class Head:
    """What is checked out.

    Attributes:
        commit: full hash.
        tags: names of the tags on it.
    """

    commit: str
    tags: tuple[str, ...]

    @property
    def version_tag(self) -> str | None:
        """The tag that PEP 440 reads as the highest version (v0.1.13 and v0.1.13-rc5 are one commit), or None."""
        versions: dict[Version, str] = {}
        for tag in self.tags:
            try:
                versions[Version(tag)] = tag
            except InvalidVersion:
                continue
        return versions[max(versions)] if versions else None


def read_head(root: str) -> Head | None:
    """The head of the checkout at `root`; None when it is none, or when its files do not tell."""
    git = _git_folder(root)
    if git is None:
        return None
    shared = os.path.normpath(os.path.join(git, _read(git, "commondir") or "."))  # a worktree's references lie there
    references = _references(shared)
    head = _read(git, "HEAD") or ""
    if head.startswith("ref: "):
        name = head[len("ref: ") :].strip()
        head = _read(git, name) or references.get(name, "")
    if not _HASH.fullmatch(head):
        return None
    tags = (name[len(_TAGS) :] for name, commit in references.items() if name.startswith(_TAGS) and commit == head)
    return Head(head, tuple(sorted(tags)))


def _git_folder(root: str) -> str | None:
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    pointer = _read(root, ".git") or ""
    if not pointer.startswith("gitdir: "):
        return None
    return os.path.normpath(os.path.join(root, pointer[len("gitdir: ") :].strip()))


def _references(shared: str) -> dict[str, str]:
    references: dict[str, str] = {}
    last = ""
    for line in (_read(shared, "packed-refs") or "").splitlines():
        if line.startswith("^"):  # the commit that the annotated tag on the line before names
            references[last] = line[1:].strip()
        elif line and not line.startswith("#"):
            commit, _, last = line.strip().partition(" ")
            references[last] = commit
    for kind in ("heads", "tags"):
        top = os.path.join(shared, "refs", kind)
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), shared).replace(os.sep, "/")
                references[path] = _read(shared, path) or ""
    return references


def _read(folder: str, name: str) -> str | None:
    try:
        with open(os.path.join(folder, *name.split("/")), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None
