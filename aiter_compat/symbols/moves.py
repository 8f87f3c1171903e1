"""Symbols and modules that moved within AITER, and every path under which one symbol has been known.

The table in `data/moves.json` names an old and a new dotted path, the first release with the new one, and the source:
AITER's own map of old module names (`aiter/ops/triton/__init__.py`), or the records of two consecutive releases in
which a symbol of the same name and a similar signature vanished at one place and appeared at the other. A row holds for
the path itself and for all that lies below it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from packaging.version import Version

from aiter_compat.symbols.tables import rows


class Move(NamedTuple):
    """One row.

    Attributes:
        old: dotted path before.
        new: dotted path after.
        since: first release with the new path, without the v.
        source: where that is known from.
    """

    old: str
    new: str
    since: str
    source: str

    def forward(self, path: str) -> str | None:
        """Where `path` went with this move; None when it is no matter of it."""
        became_package = self.new.startswith(f"{self.old}.")  # it stays, what was in it moved
        if became_package and (path == self.old or _below(path, self.new) is not None):
            return None
        return _rewritten(path, self.old, self.new)

    def backward(self, path: str) -> str | None:
        """Where `path` was before this move; None when it is no matter of it."""
        return _rewritten(path, self.new, self.old)


@cache
def moves() -> tuple[Move, ...]:
    """Every row, the latest move first."""
    found = (Move(row["old"], row["new"], row["since"], row["source"]) for row in rows("moves"))
    return tuple(sorted(found, key=lambda move: Version(move.since), reverse=True))


@lru_cache(maxsize=512)
def known_paths(path: str) -> tuple[str, ...]:
    """Every path that the symbol at `path` has had or got, the newest first; `path` itself is one of them."""
    found: dict[str, None] = {}
    for newer in _followed(path, Move.forward, ()):
        found.setdefault(newer)
    for newer in list(found):
        for older in _followed(newer, Move.backward, ()):
            found.setdefault(older)
    return tuple(found)


def _followed(path: str, step: Callable[[Move, str], str | None], taken: tuple[Move, ...]) -> list[str]:
    """The path and those that the moves lead to, each move taken once; going forward, the furthest first."""
    reached: list[str] = []
    for move in moves():
        other = None if move in taken else step(move, path)
        if other is not None:
            reached += _followed(other, step, (*taken, move))
    return [*reached, path] if step is Move.forward else [path, *reached]


def _rewritten(path: str, start: str, replacement: str) -> str | None:
    rest = _below(path, start)
    return None if rest is None else replacement + rest


def _below(path: str, start: str) -> str | None:
    """What follows `start` in `path`; None when `path` is neither it nor below it."""
    if path == start:
        return ""
    return path[len(start) :] if path.startswith(f"{start}.") else None
