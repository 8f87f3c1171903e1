"""The recorded releases, read from data files that the recorder wrote.

One file per release tag in `data/`; the folder is listed, so a new file is a new record and nothing else changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from packaging.version import InvalidVersion, Version

from aiter_compat.detect.trees import Tree, open_tree
from aiter_compat.errors import RecordError
from aiter_compat.probe import Surface

SCHEMA = 1
_SUFFIX = ".json"


@dataclass(frozen=True)
class ReleaseRecord:
    """What one AITER release exposes.

    Attributes:
        release: normalised PEP 440 version without local part, such as "0.1.15.post3".
        tag: git tag in ROCm/aiter.
        surface: as the probe saw it; `surface.origin` is the tag.
        commit: full hash of the commit that was recorded; None when the source did not state it.
    """

    release: str
    tag: str
    surface: Surface
    commit: str | None = None

    @property
    def version(self) -> Version:
        """`release`, ready to compare."""
        return Version(self.release)

    def to_dict(self) -> dict[str, Any]:
        """The content of a data file."""
        symbols = self.surface.to_dict()["symbols"]
        return {"schema": SCHEMA, "release": self.release, "tag": self.tag, "commit": self.commit, "symbols": symbols}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ReleaseRecord:
        """The inverse of `to_dict`.

        Raises:
            RecordError: a schema that this version does not read, or a malformed record.
        """
        schema = plain.get("schema")
        if schema != SCHEMA:
            raise RecordError(f"record schema {schema!r} cannot be read; this version of aiter_compat reads {SCHEMA}.")
        try:
            release, tag, commit, symbols = (plain[key] for key in ("release", "tag", "commit", "symbols"))
        except KeyError as error:
            raise RecordError(f"malformed record: {error} is missing.") from error
        return cls(release, tag, Surface.from_dict({"origin": tag, "symbols": symbols}), commit)


def recorded_releases() -> tuple[str, ...]:
    """Every recorded release, oldest first in the order of PEP 440."""
    return tuple(str(version) for version in _recorded_versions())


def record(release: str) -> ReleaseRecord:
    """The record of `release`; a bare X.Y.Z means its last recorded post release, "0.1.15" thus 0.1.15.post3.

    A leading v and a local part (`+rocm7.2`) are accepted and ignored.

    Raises:
        RecordError: it is not a version, or not recorded; the message names those that are.
    """
    try:
        asked = Version(Version(release).public)
    except InvalidVersion as error:
        raise RecordError(f"{release!r} is not a version; {_known()}") from error
    recorded = _recorded_versions()
    if not (asked.is_prerelease or asked.is_postrelease):
        posts = [version for version in recorded if version.base_version == asked.base_version]
        asked = posts[-1] if posts else asked
    if asked not in recorded:
        raise RecordError(f"AITER {asked} is not recorded; {_known()}")
    return _load(str(asked))


def newest_record() -> ReleaseRecord:
    """The record of the last release that is recorded."""
    return _load(str(_recorded_versions()[-1]))


def nearest_record(version: Version) -> ReleaseRecord | None:
    """The last recorded release that is not newer than `version`; None when all are.

    Plain PEP 440 order of `version.public`: a development build 0.1.15.dev5 is served by the last 0.1.14.
    """
    public = Version(version.public)
    older = [known for known in _recorded_versions() if known <= public]
    return _load(str(older[-1])) if older else None


@lru_cache(maxsize=1)
def _recorded_versions() -> tuple[Version, ...]:
    with _data() as data:
        names = data.names()
    return tuple(sorted(Version(name[: -len(_SUFFIX)]) for name in names if name.endswith(_SUFFIX)))


@cache
def _load(release: str) -> ReleaseRecord:
    name = release + _SUFFIX
    with _data() as data:
        text = data.read_text(name)
    try:
        plain = json.loads(text or "")
    except ValueError as error:
        raise RecordError(f"{name}: not JSON ({error}).") from error
    found = ReleaseRecord.from_dict(plain)
    if found.release != release:
        raise RecordError(f"{name}: holds the record of {found.release}.")
    return found


def _data() -> Tree:
    # importlib.resources would find the folder inside an archive as well, for more than a record's whole cost.
    data = open_tree(os.path.join(os.path.dirname(__file__), "data"))
    if data is None:
        raise RecordError("the release records are missing: aiter_compat is installed without its data files.")
    return data


def _known() -> str:
    return f"recorded: {', '.join(recorded_releases()) or 'none'}."
