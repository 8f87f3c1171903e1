"""A host against releases: which release lacks what the host uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from aiter_compat.checker.gaps import Gap, gaps
from aiter_compat.checker.release_view import ReleaseView
from aiter_compat.hostscan import HostScan

SCHEMA = 1


Letter = Literal["M", "F", "g", "-", "."]
LETTERS: Mapping[Letter, str] = {
    "M": "fails when the file is imported",
    "F": "fails when a function runs",
    "g": "guarded",
    "-": "what it belongs to is missing",
    ".": "there",
}


class Cell(NamedTuple):
    """What a table shows of one symbol in one release.

    Attributes:
        letter: the worst of its uses.
        gaps: all of them.
    """

    letter: Letter
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """The findings for some releases.

    Attributes:
        root: the tree that was scanned.
        releases: oldest first.
        gaps: by file, line, symbol and release.
    """

    root: str
    releases: tuple[str, ...]
    gaps: tuple[Gap, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "schema": SCHEMA,
            "releases": list(self.releases),
            "findings": [
                {
                    "release": gap.release,
                    "kind": gap.kind,
                    "symbol": gap.symbol,
                    "file": gap.file,
                    "line": gap.line,
                    "scope": gap.scope,
                    "guarded": gap.guarded,
                    "message": gap.message,
                }
                for gap in self.gaps
            ],
        }

    def cells(self) -> dict[str, list[Cell]]:
        """Symbol -> a cell for each release; symbols in the order of their names."""
        found: dict[str, dict[str, list[Gap]]] = {}
        for gap in sorted(self.gaps, key=lambda gap: gap.symbol):
            found.setdefault(gap.symbol, {}).setdefault(gap.release, []).append(gap)
        return {symbol: [_cell(found, symbol, release) for release in self.releases] for symbol in found}

    @property
    def bare(self) -> tuple[Gap, ...]:
        """Those that the host does not survive."""
        return tuple(gap for gap in self.gaps if not gap.guarded)


def matrix(scan: HostScan, releases: Sequence[str]) -> Matrix:
    """Compare a host with releases.

    Args:
        scan: what the host uses.
        releases: recorded releases, without the v.

    Raises:
        RecordError: one of them is not recorded.
    """
    views = sorted((ReleaseView.of(release) for release in dict.fromkeys(releases)), key=ReleaseView.order)
    return Matrix(scan.root, tuple(view.release for view in views), tuple(gaps(scan, views)))


def _cell(found: Mapping[str, Mapping[str, list[Gap]]], symbol: str, release: str) -> Cell:
    gaps = tuple(found[symbol].get(release, ()))
    bare = [gap for gap in gaps if not gap.guarded]
    if bare:
        return Cell("M" if any(gap.scope == "module" for gap in bare) else "F", gaps)
    if gaps:
        return Cell("g", gaps)
    return Cell("-" if any(release in found.get(owner, ()) for owner in _owners(symbol)) else ".")


def _owners(symbol: str) -> Iterator[str]:
    """What has to be there before the symbol can be missing: the function of a keyword, the modules of a name."""
    path, bracket, _ = symbol.partition("(")
    if bracket:
        yield path
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
