"""What to do about something that a release lacks: from the migration about it, or from where it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aiter_compat.checker.gaps import Gap
from aiter_compat.checker.release_view import ReleaseView
from aiter_compat.migration_model import SHOWN_BY_RECORDS, Migration
from aiter_compat.symbols.moves import known_paths

_OF_KIND = {
    "missing-module": "Guard the import, or find what it gives with aiter_compat.load.",
    "missing-symbol": "Guard the use, or ask aiter_compat.locate first.",
    "missing-keyword": "Pass the keyword only where the function takes it.",
    "missing-enum-member": "Name the member only where the release has it.",
    "changed-meaning": "Pass what this release's function takes, or ask for one contract of it with aiter_compat.load.",
}
_OF_FUSED_MOE = "Call aiter_compat.fused_moe, which takes it on every release."
_FUSED_MOE = "aiter.fused_moe.fused_moe("


class Remedies:
    """Knows what to say about gaps.

    Args:
        migrations: all of them.
        views: the releases that the host is checked against.
    """

    def __init__(self, migrations: Sequence[Migration], views: Sequence[ReleaseView]) -> None:
        self._views = views
        self._migrations: Mapping[str, Migration] = {
            name: one for one in migrations if one.kind in SHOWN_BY_RECORDS for name in _names(one)
        }

    def remedy(self, gap: Gap, releases: Sequence[str]) -> str:
        """One or two sentences.

        Args:
            gap: the first of the gaps of one use.
            releases: those in which the use is missing.
        """
        migration = self._migrations.get(gap.symbol) or self._migrations.get(self._defined(gap.symbol))
        if migration is not None:
            return migration.remedy
        if gap.kind == "missing-keyword" and gap.symbol.startswith(_FUSED_MOE):
            return _OF_FUSED_MOE
        elsewhere = self._elsewhere(gap.symbol, releases)
        if elsewhere:
            return f"There it is {elsewhere}; aiter_compat.load({gap.symbol!r}) finds it in each release."
        return _OF_KIND[gap.kind]

    def _elsewhere(self, symbol: str, releases: Sequence[str]) -> str:
        """Another path of the symbol that one of the releases has."""
        for view in self._views:
            if view.release in releases:
                for path in known_paths(symbol):
                    if path != symbol and view.has(path):
                        return path
        return ""

    def _defined(self, symbol: str) -> str:
        """The symbol under the path where it is defined, so that re-exports have the same remedies."""
        path, bracket, keyword = symbol.partition("(")
        owner, _, member = path.rpartition(".")
        for view in reversed(self._views):
            found = view.find(path)
            if found is not None:
                return found.path + bracket + keyword
            enum = view.find(owner)
            if enum is not None and enum.kind == "enum":
                return f"{enum.path}.{member}"
        return symbol


def _names(migration: Migration) -> tuple[str, ...]:
    """The symbols of gaps that a migration speaks of."""
    if migration.kind in ("new keyword", "removed keyword"):
        return (f"{migration.symbol}({migration.detail})",)
    if migration.kind == "enum member":
        return (f"{migration.symbol}.{migration.detail}",)
    moved = migration.kind in ("moved symbol", "renamed symbol")
    return (migration.symbol, migration.detail) if moved else (migration.symbol,)
