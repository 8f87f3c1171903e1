"""The verdict on what is installed under the name `aiter`, from what the other modules of this package read."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

from aiter_compat.detect.distributions import AMD_NAME, OLD_NAME, Claim, Distribution, distributions
from aiter_compat.detect.editable import (
    found_at,
    linked_folders,
    path_lines,
    registered_mappings,
    written_mappings,
)
from aiter_compat.detect.identity import amd_marker, foreign_marker, starts_as_foreign
from aiter_compat.detect.imported import Imported, imported
from aiter_compat.detect.model import FROM_METADATA, FROM_VERSION_FILE, Installation, Kind
from aiter_compat.detect.search import NAME, Found, absolute_entries, search
from aiter_compat.detect.trees import Tree, open_tree, resolved
from aiter_compat.detect.versions import remarks_on, same_release
from aiter_compat.errors import InvalidArgument

_VERSION_LINE = re.compile(r"""^__version__\b[^'"\n]*['"]([^'"\n]+)['"]""", re.MULTILINE)


class _Owner(NamedTuple):
    distribution: Distribution
    claim: Claim


def detect(path: Sequence[str] | None = None) -> Installation:
    """Examine what an import of `aiter` would find, or has found; nothing is imported, executed or remembered.

    Args:
        path: site folders and archives to look at instead of this process's own state (`sys.modules`, `sys.path`,
            the editable finders on `sys.meta_path`). Their `.pth` files count, as they do at start-up.

    Returns:
        The verdict; what is wrong with the installation is in its `warnings`, never an exception.

    Raises:
        InvalidArgument: `path` is a single path, not a sequence of them.
    """
    if isinstance(path, (str, bytes, os.PathLike)):
        raise InvalidArgument("path", path, "a sequence of folders, as sys.path is", f"Pass [{path!r}].")
    if path is None:
        entries = absolute_entries(sys.path)
        already = imported()
        targets = registered_mappings()
    else:
        named = absolute_entries(path)
        entries = absolute_entries([inner for entry in named for inner in (entry, *path_lines(entry))])
        already = None
        targets = [target for entry in named for target in written_mappings(entry)]

    known = distributions(entries)
    if already is not None and already.found is None:
        return _without_files(already, known)
    mapped = next((found for found in map(found_at, targets) if found is not None), None)
    # Import asks setuptools' finders after the path, so that even a bare folder on the path hides what they map.
    found = already.found if already is not None else search(entries) or mapped
    if found is None:
        return Installation("absent", warnings=tuple(_left_over(known, targets)))
    is_namespace = found.kind == "namespace"
    verdict = _namespace(found, known, mapped) if is_namespace else _package(found, known, entries)
    return verdict if already is None else verdict._replace(imported=True)


def _without_files(already: Imported, known: list[Distribution]) -> Installation:
    if already.blocked:
        warning = 'sys.modules["aiter"] is None: this process blocks every import of aiter'
        return Installation("absent", warnings=(warning, *_left_over(known, [])))
    kind: Kind = "present" if already.looks_like_aiter else "foreign"
    warning = "the host process made a module called aiter in memory: there are no files to examine"
    return Installation(kind, imported=True, warnings=(warning,))


def _left_over(known: list[Distribution], targets: list[str]) -> list[str]:
    warnings = [
        f"{distribution} has metadata at {distribution.metadata} but no package aiter is on the path: "
        + (
            f"it was installed in place from {distribution.editable_target}, which is gone or not on the path"
            if distribution.editable_target is not None
            else "what is left of an uninstalled or broken installation"
        )
        for distribution in known
    ]
    return warnings + [f"an editable install maps aiter to {target}, which holds no package" for target in targets]


def _namespace(found: Found, known: list[Distribution], mapped: Found | None) -> Installation:
    folders = " and ".join(found.portions)
    warnings = [f"a folder called aiter without an __init__.py ({folders}) imports as an empty namespace package"]
    clones = [folder for folder in found.portions if os.path.isfile(os.path.join(folder, NAME, "__init__.py"))]
    if clones:
        warnings.append(
            f"{clones[0]} looks like a clone of the repository: run from another directory, "
            f"or put {clones[0]} itself on the path"
        )
    if mapped is not None:
        warnings.append(
            f"it hides the editable install at {mapped.location}, which import asks for last: run from another "
            "directory, or install with --config-settings editable_mode=compat"
        )
    else:
        warnings += _left_over(known, [])
    return Installation("namespace", location=found.location, warnings=tuple(warnings))


def _package(found: Found, known: list[Distribution], entries: tuple[str, ...]) -> Installation:
    tree = open_tree(found.location) if found.kind == "package" else None
    if tree is None:  # a module, which AITER never was
        return _foreign(found, known, None)
    with tree:
        marker, foreign = amd_marker(tree), foreign_marker(tree)
        if marker is None:
            # Only AMD distributes as amd-aiter: a package of that name without the files that tell is a broken one.
            owner = _amd_owner(known, tree, "__init__.py")
            if foreign is not None or owner is None or owner.distribution.name == OLD_NAME:
                return _foreign(found, known, tree)
            remark = (
                f"{owner.distribution} owns {found.location}, but none of AITER's modules is there: it is truncated"
            )
            return _present(found, known, entries, tree, owner, [remark])
        if foreign is not None and starts_as_foreign(tree):
            remark = f"files of AMD's AITER and of another package are mixed in {found.location}: reinstall one of them"
            return _foreign(found, known, tree, [remark])
        remarks = []
        if foreign is not None:
            remarks.append(f"{found.location} also holds files of another package called aiter ({foreign})")
        return _present(found, known, entries, tree, _amd_owner(known, tree, marker), remarks)


def _foreign(found: Found, known: list[Distribution], tree: Tree | None, remarks: Sequence[str] = ()) -> Installation:
    owner = None if tree is None else _foreign_owner(known, tree)
    distribution = None if owner is None else owner.distribution
    warnings = [*remarks, f"the package called aiter at {found.location} is not AMD's AITER"]
    hidden = [other for other in known if other is not distribution and not other.foreign]
    warnings += [f"it hides {other}, whose metadata is at {other.metadata}" for other in hidden]
    version = None if distribution is None else distribution.version
    return Installation(
        "foreign",
        version=version,
        source=None if version is None else FROM_METADATA,
        location=found.location,
        distribution=None if distribution is None else distribution.name,
        warnings=tuple(warnings),
    )


def _present(
    found: Found,
    known: list[Distribution],
    entries: tuple[str, ...],
    tree: Tree,
    owner: _Owner | None,
    remarks: Sequence[str],
) -> Installation:
    distribution = None if owner is None else owner.distribution
    stated = None if distribution is None else distribution.version
    written = _written_version(tree)
    warnings = [*remarks, *_about_others(known, distribution, found.location)]
    version, source = (stated, FROM_METADATA) if stated is not None else (written, FROM_VERSION_FILE)
    if stated is not None and written is not None and not same_release(stated, written):
        if owner is not None and owner.claim == "beside":  # nothing ties the metadata to these files but the folder
            version, source = written, FROM_VERSION_FILE
        warnings.append(
            f"the metadata of {distribution} and aiter/_version.py ({written}) disagree: "
            f"{version} is taken, from {source}"
        )
    if version is None:
        warnings.append(f"nothing states the version of the files at {found.location}")
    else:
        warnings += remarks_on(version)
    return Installation(
        "present",
        version=version,
        source=None if version is None else source,
        location=found.location,
        distribution=None if distribution is None else distribution.name,
        editable=owner is not None and _is_editable(owner, entries),
        warnings=tuple(warnings),
    )


def _about_others(known: list[Distribution], owner: Distribution | None, location: str) -> list[str]:
    others = [other for other in known if other is not owner and not _same(other, owner)]
    if not others:
        return []
    listed = ", ".join(f"{other} ({other.metadata})" for other in others)
    if owner is None:
        return [f"metadata and files disagree: {listed} does not own the files at {location}"]
    return [f"several distributions are called aiter: the files at {location} are those of {owner}, not of {listed}"]


def _same(other: Distribution, owner: Distribution | None) -> bool:
    # An editable install has its metadata in site-packages and a copy of it beside the sources.
    return owner is not None and (other.name, other.version) == (owner.name, owner.version)


def _amd_owner(known: list[Distribution], tree: Tree, marker: str) -> _Owner | None:
    """The distribution that AITER's files in `tree` belong to; where several claim them, the one that fits best."""
    listed_as = f"{NAME}/{marker}"
    owners = [owner for owner in _claims(known, tree, listed_as) if not owner.distribution.foreign]
    written = _written_version(tree)

    def fitness(owner: _Owner) -> tuple[bool, ...]:
        distribution, claim = owner
        return (
            claim == "editable",
            claim in ("editable", "listed"),
            distribution.matches_content(listed_as, tree.path(marker)),
            written is not None and same_release(distribution.version or "", written),
            distribution.name == AMD_NAME,
        )

    return max(owners, key=fitness) if owners else None


def _foreign_owner(known: list[Distribution], tree: Tree) -> _Owner | None:
    owners = _claims(known, tree, f"{NAME}/__init__.py")
    return max(owners, key=lambda owner: (owner.distribution.foreign, owner.claim == "listed")) if owners else None


def _claims(known: list[Distribution], tree: Tree, listed_as: str) -> list[_Owner]:
    claims = (_Owner(distribution, distribution.claim_on(tree.location, listed_as)) for distribution in known)
    return [owner for owner in claims if owner.claim != "no"]


def _is_editable(owner: _Owner, entries: tuple[str, ...]) -> bool:
    if owner.claim == "editable":
        return True
    root = owner.distribution.root
    return owner.distribution.metadata.endswith(".egg-info") and resolved(root) in linked_folders(entries)


def _written_version(tree: Tree) -> str | None:
    written = _VERSION_LINE.search(tree.read_text("_version.py") or "")
    return None if written is None else written.group(1)
