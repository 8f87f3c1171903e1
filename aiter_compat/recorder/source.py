"""Record one AITER: a checkout, an unpacked archive, an installed tree or a wheel file."""

from __future__ import annotations

import os
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from aiter_compat.detect import detect
from aiter_compat.detect.identity import amd_marker
from aiter_compat.detect.trees import open_tree
from aiter_compat.errors import InvalidArgument, RecordError
from aiter_compat.probe import probe
from aiter_compat.recorder.git_head import Head, read_head
from aiter_compat.releases import ReleaseRecord


def record_source(
    path: str | os.PathLike[str], as_version: str | None = None, *, commit: str | None = None
) -> ReleaseRecord:
    """Record the surface of the AITER at `path`; nothing of it is executed and nothing is written.

    Args:
        path: a checkout or unpacked archive, a folder that holds the package `aiter` (site-packages), that package's
            folder itself, or a wheel file.
        as_version: the release that it is. Without it: the metadata or `aiter/_version.py` that lies beside the
            package, else a version tag on the commit that is checked out.
        commit: full hash of the commit, for sources that lie in no checkout.

    Raises:
        InvalidArgument: there is no AITER at `path`, `as_version` is no version, or it is needed and missing.
        RecordError: a file that the record needs is missing or cannot be parsed.
    """
    root = source_root(os.path.abspath(os.fspath(path)))
    head = read_head(root)
    release, tag = stated_release(root, as_version, head)
    surface = probe(os.path.join(root, "aiter"))
    if surface.notes:
        raise RecordError(f"{path} cannot be recorded: {'; '.join(surface.notes)}.")
    return ReleaseRecord(
        release=release,
        tag=tag,
        surface=replace(surface, origin=tag),
        commit=commit or (None if head is None else head.commit),
    )


def source_root(path: str) -> str:
    """The folder (or archive) that holds the package `aiter`, from a path to it or to the package.

    Raises:
        InvalidArgument: there is no AITER at `path`.
    """
    for root in (path, os.path.dirname(path)):
        if root != path and os.path.basename(path) != "aiter":
            break
        tree = open_tree(os.path.join(root, "aiter"))
        if tree is not None:
            with tree:
                if amd_marker(tree) is not None:
                    return root
    raise InvalidArgument(
        "path", path, "a checkout of ROCm/aiter, a folder or wheel that holds its package aiter, or that package"
    )


def stated_release(root: str, as_version: str | None, head: Head | None) -> tuple[str, str]:
    """Release and tag of a source.

    Args:
        root: the folder that holds the package.
        as_version: the release as the caller names it, which wins.
        head: what is checked out there.

    Raises:
        InvalidArgument: `as_version` is no version, or it is missing and nothing in the source states one.
    """
    if as_version is not None:
        try:
            release = Version(as_version).public
        except InvalidVersion as error:
            raise InvalidArgument("as_version", as_version, "a release such as 0.1.15.post3") from error
        return release, f"v{release}"
    stated = detect(path=[root]).release
    if stated is not None:
        return stated.public, f"v{stated.public}"
    tagged = None if head is None else head.version_tag
    if tagged is not None:
        return Version(tagged).public, tagged
    raise InvalidArgument(
        "as_version", as_version, "a release such as 0.1.15.post3", f"Nothing in {root} states which release it is."
    )
