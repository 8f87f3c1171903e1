"""The matrix as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aiter_compat.checker.gaps import Gap
from aiter_compat.checker.matrix import LETTERS, Cell, Matrix

_MOST_RELEASES = 64  # in one table; more go into another one below
_WIDEST_NAME = 56  # a longer one has a line to itself


def as_text(matrix: Matrix) -> str:
    """Symbols against releases, by the module that they are in; then every place that is not guarded."""
    if not matrix.gaps:
        return f"Nothing that {matrix.root} uses is missing in {_span(matrix.releases)}.\n"
    lines: list[str] = []
    for start in range(0, len(matrix.releases), _MOST_RELEASES):
        lines += [*_table(matrix, slice(start, start + _MOST_RELEASES)), ""]
    lines += ["  ".join(f"{letter} {meaning}" for letter, meaning in LETTERS.items()), "", *_places(matrix.bare)]
    return "\n".join(lines).rstrip() + "\n"


def _table(matrix: Matrix, columns: slice) -> Iterator[str]:
    every = {symbol: cells[columns] for symbol, cells in matrix.cells().items()}
    rows = {symbol: every[symbol] for symbol in sorted(every, key=_split) if any(cell.gaps for cell in every[symbol])}
    names = [_split(symbol)[1] for symbol in rows]
    width = max((len(name) for name in names if len(name) <= _WIDEST_NAME), default=0)
    yield from _heads(matrix.releases[columns], width)
    owner = ""
    for symbol, cells in rows.items():
        if _split(symbol)[0] != owner:
            owner = _split(symbol)[0]
            yield owner
        yield from _row(_split(symbol)[1], cells, width)


def _heads(releases: Sequence[str], width: int) -> Iterator[str]:
    """The releases, written downwards."""
    height = max(len(release) for release in releases)
    padded = [release.rjust(height) for release in releases]
    for row in range(height):
        yield (" " * (width + 4) + "".join(release[row] for release in padded)).rstrip()


def _row(name: str, cells: Sequence[Cell], width: int) -> Iterator[str]:
    if len(name) > width:
        yield f"  {name}"
        name = ""
    yield f"  {name:<{width}}  " + "".join(cell.letter for cell in cells)


def _split(symbol: str) -> tuple[str, str]:
    """The module or class of a symbol, and its name, a keyword in brackets included."""
    path, bracket, keyword = symbol.partition("(")
    owner, _, name = path.rpartition(".")
    return owner, name + bracket + keyword


def _places(bare: Sequence[Gap]) -> list[str]:
    grouped: dict[tuple[str, int, str, str, str], list[str]] = {}
    for gap in bare:
        grouped.setdefault((gap.file, gap.line, gap.kind, gap.symbol, gap.scope), []).append(gap.release)
    return [
        f"{file}:{line}: {kind} {symbol} ({scope}) in {_span(releases)}"
        for (file, line, kind, symbol, scope), releases in grouped.items()
    ]


def _span(releases: Sequence[str]) -> str:
    if len(releases) < 4:
        return ", ".join(releases)
    return f"{releases[0]} … {releases[-1]} ({len(releases)} releases)"
