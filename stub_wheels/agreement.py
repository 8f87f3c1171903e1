"""Whether the recorded releases, CHANGELOG.md, the factors of tox.ini and README.md's support table agree.

The four are what a person touches, or relies on, when AITER has a new release; CONTRIBUTING.md says how.
"""

from __future__ import annotations

import configparser
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from stub_wheels.factors import PREFIX, factor_name
from stub_wheels.variants import VARIANTS

_RELEASE = r"v(\d+\.\d+\.\d+(?:\.post\d+)?)"
_ROW = re.compile(rf"^\|\s*{_RELEASE}(?: to {_RELEASE}|( and newer))?\s*\|(.*)\|$", re.MULTILINE)
_NAMED = re.compile(rf"{_RELEASE}(?: to {_RELEASE})?")
_OTHERS = {"none", "foreign", *VARIANTS}


@dataclass(frozen=True)
class Span:
    """Releases from `first` to `last`, both included; `last` None: and newer."""

    first: Version
    last: Version | None
    text: str

    def __contains__(self, version: Version) -> bool:
        return self.first <= version and (self.last is None or version <= self.last)

    def __str__(self) -> str:
        return f"v{self.first} and newer" if self.last is None else f"v{self.first} to v{self.last}"


def recorded(root: Path) -> list[Version]:
    """Every release with a record in this checkout, oldest first."""
    return sorted(Version(path.stem) for path in (root / "aiter_compat" / "releases" / "data").glob("*.json"))


def support_table(root: Path) -> list[Span]:
    """The rows of README.md's table of releases; `text` is what a row says of them."""
    rows = _ROW.findall((root / "README.md").read_text(encoding="utf-8"))
    return [
        Span(Version(first), None if newer else Version(last or first), text.strip())
        for first, last, newer, text in rows
    ]


def announced(root: Path) -> list[Span]:
    """The releases that CHANGELOG.md names in the entries "Release records for AITER …"."""
    entries = re.split(r"\n(?=- |#)", (root / "CHANGELOG.md").read_text(encoding="utf-8"))
    found = [_NAMED.findall(entry) for entry in entries if re.match(r"- Release records? for AITER ", entry)]
    return [Span(Version(first), Version(last or first), "") for first, last in itertools.chain(*found)]


def matrix_factors(root: Path) -> list[str]:
    """Factors of the environments with the label `matrix` in tox.ini, without the prefix."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(root / "tox.ini", encoding="utf-8")
    lines = (line.partition("=") for line in _logical_lines(config["tox"]["labels"]))
    environments = _expanded({name.strip(): value for name, _, value in lines}["matrix"])
    return [name.rpartition(PREFIX)[2] for name in environments if PREFIX in name]


def described_factors(root: Path) -> list[str]:
    """Factors that the description of tox.ini's [testenv] explains; tox knows no other by name."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(root / "tox.ini", encoding="utf-8")
    conditions = [line.partition(":")[0] for line in _logical_lines(config["testenv"]["description"])]
    return [name.removeprefix(PREFIX) for condition in conditions for name in _expanded(condition)]


def disagreements(root: Path) -> list[str]:
    """What does not agree, one sentence each; empty: all of it does."""
    return [*_records(root), *_tox(root), *_support(root)]


def _records(root: Path) -> Iterator[str]:
    spans = announced(root)
    for release in recorded(root):
        if not any(release in span for span in spans):
            yield f"CHANGELOG.md has no line about the record of v{release}"
    for bound in {bound for span in spans for bound in (span.first, span.last)} - set(recorded(root)):
        if bound is not None and bound > recorded(root)[0]:
            yield f"CHANGELOG.md names a record of v{bound}, and there is none"


def _tox(root: Path) -> Iterator[str]:
    factors = matrix_factors(root)
    names = {factor_name(str(release)): release for release in recorded(root)}
    for name in factors:
        if name not in names and name not in _OTHERS:
            yield f"tox.ini has the factor {name}, which is no recorded release"
    newest = factor_name(str(recorded(root)[-1]))
    if newest not in factors:
        yield f"tox.ini's label matrix has no factor {newest} for the newest record"
    for name in sorted(set(factors) ^ set(described_factors(root))):
        yield f"tox.ini has the factor {name} in only one of its label matrix and its description"


def _support(root: Path) -> Iterator[str]:
    rows = support_table(root)
    for release in recorded(root):
        matching = [str(row) for row in rows if release in row]
        if len(matching) != 1:
            yield f"README.md's table has {len(matching)} rows for v{release}: {', '.join(matching) or 'none'}"
    tested = [_release_of(name, root) for name in matrix_factors(root)]
    for row in rows:
        if not any(release in row for release in tested if release is not None):
            yield f"README.md's row {row} has no factor in tox.ini that tests it"


def _release_of(name: str, root: Path) -> Version | None:
    return {factor_name(str(release)): release for release in recorded(root)}.get(name)


def _logical_lines(text: str) -> list[str]:
    """The lines of a value of tox.ini, those that end with a backslash joined to the next."""
    return [line.strip() for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]


def _expanded(text: str) -> list[str]:
    """Names of a comma-separated list with braces, as tox expands it: "a{1, 2}, b" gives a1, a2, b."""
    names: list[str] = []
    for item in re.split(r",(?![^{]*\})", text):
        parts = re.split(r"\{([^}]*)\}", item.strip())
        choices = [[part] if index % 2 == 0 else part.split(",") for index, part in enumerate(parts)]
        names += ["".join(word.strip() for word in words) for words in itertools.product(*choices)]
    return names
