"""Every module and symbol of each recorded AITER release, read from data files that the recorder wrote.

Apart from the small surfaces in `data/`, which a call needs: these are for `locate`, `load` and the checks of a host's
imports. One file per release in `data/symbols/`. A file that names a base release holds only what differs from it:

    {"schema": 1, "release": "0.1.14", "tag": "v0.1.14", "commit": "…", "base": "0.1.13.post1",
     "modules": {"aiter.gone": null, "aiter.mla": {"mla_decode_fwd": "(q, kv)", "left_out": null}}}

where null takes a module, or a name of a module, away. The values of a module are those of `probe.module_names`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from packaging.version import InvalidVersion, Version

from aiter_compat.detect.trees import Tree, open_tree
from aiter_compat.errors import RecordError
from aiter_compat.probe.lookup import find
from aiter_compat.probe.model import Symbol
from aiter_compat.probe.module_names import ModuleNames

SCHEMA = 1
_SUFFIX = ".json"

Content = Mapping[str, Mapping[str, Any]]
"""Module -> its names in short form."""


@dataclass(frozen=True)
class SymbolRecord:
    """The modules of one AITER release. Satisfies `probe.lookup.Modules`.

    Attributes:
        release: normalised PEP 440 version without local part, such as "0.1.15.post3".
        tag: git tag in ROCm/aiter.
        content: every module that has a file, by dotted name, in the short form of `probe.module_names`.
        commit: full hash of the commit that was recorded; None when the source did not state it.
    """

    release: str
    tag: str
    content: Content = field(repr=False)
    commit: str | None = None
    _decoded: dict[tuple[str, str], ModuleNames] = field(default_factory=dict, init=False, repr=False, compare=False)
    _packages: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash((self.release, self.tag, self.commit))

    def has_module(self, name: str) -> bool:
        """Whether there is a module, package or folder of modules of that dotted name."""
        if name in self.content:
            return True
        if not self._packages:
            self._packages.update(module.rpartition(".")[0] for module in self.content)
            self._packages.update([package.rpartition(".")[0] for package in self._packages])
        return name in self._packages

    def names(self, module: str, wanted: str | None = None) -> ModuleNames | None:
        """The names of a module, of its symbols only the wanted one (None: all); None when there is no such module."""
        plain = self.content.get(module)
        if plain is None:
            return ModuleNames(module) if self.has_module(module) else None
        if wanted is None:
            return ModuleNames.from_plain(module, plain)
        key = module, wanted if wanted in plain else ""
        if key not in self._decoded:
            self._decoded.setdefault(key, ModuleNames.from_plain(module, plain, only=wanted))
        return self._decoded[key]

    def find(self, path: str) -> Symbol | None:
        """The symbol that `path` leads to in this release, under the path where it is defined; None when nowhere."""
        return find(self, path)

    def exported(self, module: str = "aiter") -> dict[str, str]:
        """What `from module import *` and the module's own imports give: name -> path where it is defined."""
        names = self.names(module) or ModuleNames(module)
        known = {*names.symbols, *names.imports}
        for source in names.stars:
            star = self.names(source) or ModuleNames(source)
            given = (*star.symbols, *star.imports) if star.exports is None else star.exports
            known.update(name for name in given if star.star_gives(name))
        found = {name: self.find(f"{module}.{name}") for name in sorted(known)}
        return {name: symbol.path for name, symbol in found.items() if symbol is not None}

    def symbols(self) -> dict[str, Symbol]:
        """Every symbol, under the path where it is defined, in the order of the paths."""
        return {
            f"{module}.{name}": symbol
            for module in sorted(self.content)
            for name, symbol in sorted((self.names(module) or ModuleNames(module)).symbols.items())
        }


def symbol_releases() -> tuple[str, ...]:
    """Every release whose symbols are recorded, oldest first in the order of PEP 440."""
    return tuple(str(version) for version in _recorded_versions())


def symbol_record(release: str, *, exact: bool = False) -> SymbolRecord:
    """The symbols of `release`; a bare X.Y.Z means its last recorded post release, "0.1.15" thus 0.1.15.post3.

    A leading v and a local part (`+rocm7.2`) are accepted and ignored.

    Args:
        release: the release.
        exact: take X.Y.Z for that very release.

    Raises:
        RecordError: it is not a version, or not recorded (the message names those that are), or its file is malformed.
    """
    recorded = _recorded_versions()
    known = f"recorded: {', '.join(map(str, recorded)) or 'none'}."
    try:
        asked = Version(Version(release).public)
    except (InvalidVersion, TypeError) as error:
        raise RecordError(f"{release!r} is not a version; {known}") from error
    if not (exact or asked.is_prerelease or asked.is_postrelease):
        posts = [version for version in recorded if version.base_version == asked.base_version]
        asked = posts[-1] if posts else asked
    if asked not in recorded:
        raise RecordError(f"the symbols of AITER {asked} are not recorded; {known}")
    return _load(str(asked))


def symbol_record_of(text: Mapping[str, Any], base: SymbolRecord | None) -> SymbolRecord:
    """The record that the content of a data file gives.

    Args:
        text: the file's values.
        base: the record that it names as its base.

    Raises:
        RecordError: a schema that this version does not read, or a malformed file.
    """
    schema = text.get("schema")
    if schema != SCHEMA:
        raise RecordError(f"symbols schema {schema!r} cannot be read; this version of aiter_compat reads {SCHEMA}.")
    try:
        release, tag, commit, differences = (text[key] for key in ("release", "tag", "commit", "modules"))
        content = _changed({} if base is None else base.content, differences)
    except KeyError as error:
        raise RecordError(f"malformed symbols: {error} is missing.") from error
    except (AttributeError, TypeError) as error:
        raise RecordError(f"malformed symbols ({type(error).__name__}: {error}).") from error
    return SymbolRecord(release, tag, content, commit)


def _changed(base: Content, differences: Mapping[str, Mapping[str, Any] | None]) -> Content:
    content = dict(base)
    for module, names in differences.items():
        if names is None:
            content.pop(module, None)
            continue
        merged = {**content.get(module, {}), **names}
        content[module] = {name: value for name, value in merged.items() if value is not None}
    return content


@lru_cache(maxsize=1)
def _recorded_versions() -> tuple[Version, ...]:
    with _data() as data:
        names = data.names()
    return tuple(sorted(Version(name[: -len(_SUFFIX)]) for name in names if name.endswith(_SUFFIX)))


@cache
def _load(release: str) -> SymbolRecord:
    name = release + _SUFFIX
    with _data() as data:
        content = data.read_text(name)
    try:
        text = json.loads(content or "")
    except ValueError as error:
        raise RecordError(f"symbols of {release}: not JSON ({error}).") from error
    base = text.get("base")
    found = symbol_record_of(text, None if base is None else _load(base))
    if found.release != release:
        raise RecordError(f"symbols/{name}: holds those of {found.release}.")
    return found


def _data() -> Tree:
    data = open_tree(os.path.join(os.path.dirname(__file__), "data", "symbols"))
    if data is None:
        raise RecordError("the recorded symbols are missing: aiter_compat is installed without its data files.")
    return data
