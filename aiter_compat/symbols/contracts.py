"""Symbols that kept their name and changed what must be passed: reviewed by hand, from the records' own signatures.

`data/contracts.json` lists what changed since v0.1.14, within the releases that this package serves. A row holds for
the path that it names, for every other path of the same symbol, and for re-exports that lead there.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from aiter_compat.symbols.moves import known_paths
from aiter_compat.symbols.tables import rows


class ContractChange(NamedTuple):
    """One symbol whose signature changed under its name.

    Attributes:
        symbol: dotted path.
        since: the releases with which it changed, oldest first, without the v.
        what: the change in half a sentence.
        source: where that is known from.
    """

    symbol: str
    since: tuple[str, ...]
    what: str
    source: str


@cache
def contract_changes() -> tuple[ContractChange, ...]:
    """Every row."""
    return tuple(
        ContractChange(row["symbol"], tuple(row["since"]), row["what"], row["source"]) for row in rows("contracts")
    )


def contract_change(symbol: str, located: str) -> ContractChange | None:
    """The row about a symbol, or None.

    Args:
        symbol: the path that was asked for.
        located: the path at which it was found.
    """
    paths = {symbol, located, *known_paths(located)}
    return next((row for row in contract_changes() if row.symbol in paths), None)
