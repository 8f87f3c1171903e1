"""`locate()`: the path of a symbol in the installed AITER, or in a recorded release; nothing is imported.

There is no lock: threads that ask at the same time may search twice, and all are given the same result.
"""

from __future__ import annotations

import re
from functools import lru_cache

from aiter_compat.detect import Installation, installation
from aiter_compat.detect.trees import open_tree
from aiter_compat.errors import InvalidArgument
from aiter_compat.probe.lookup import Modules, find
from aiter_compat.probe.model import Symbol
from aiter_compat.probe.package import Package
from aiter_compat.releases.symbol_records import symbol_record, symbol_releases
from aiter_compat.symbols.moves import known_paths

_PATH = re.compile(r"aiter(\.[A-Za-z_]\w*)*")


class _Found:
    """What was found so far in one installation.

    `ac.refresh()` makes another `Installation`, with which this is of no use any more.
    """

    def __init__(self, examined: Installation) -> None:
        self.examined = examined
        self.symbols: dict[str, Symbol | None] = {}


_latest: _Found | None = None


def locate(symbol: str, release: str | None = None) -> str | None:
    """The dotted path at which `symbol` is defined in the installed AITER, or in a recorded release.

    Moves are followed in both directions and re-exports to the definition, so a path of any release may be given:
    `aiter.flash_attn_varlen_func`, `aiter.ops.triton.moe_routing.routing` (until v0.1.9) and
    `aiter.ops.triton.moe.moe_routing.routing` (since) each find the same thing. Where several paths exist, the newest
    is returned. Only files are read, the installed ones once until `ac.refresh()`.

    Args:
        symbol: dotted path of a module, function, class, enum or variable of AITER, in any release.
        release: the recorded release to look in, such as "0.1.14"; None for the installed AITER.

    Returns:
        The path, or None: this AITER does not have the symbol, or no AITER is installed.

    Raises:
        InvalidArgument: `symbol` is no dotted path that starts with aiter.
        RecordError: `release` is not recorded.
    """
    check_path(symbol)
    found = installed_symbol(symbol) if release is None else recorded_symbol(symbol, release)
    return None if found is None else found.path


def check_path(symbol: object) -> None:
    """Refuse what is no path of AITER.

    Raises:
        InvalidArgument: see `locate`.
    """
    if not isinstance(symbol, str) or _PATH.fullmatch(symbol) is None:
        raise InvalidArgument(
            "symbol",
            repr(symbol),
            'a dotted path inside aiter, such as "aiter.ops.shuffle.shuffle_weight"',
            "Give the path that an import of AITER would have, aiter itself first.",
        )


def installed_symbol(symbol: str) -> Symbol | None:
    """The symbol in the installed AITER, with its path there; None when it has none, or there is no AITER."""
    global _latest  # noqa: PLW0603 - the one piece of state of this module
    examined = installation()
    found = _latest
    if found is None or found.examined is not examined:
        found = _latest = _Found(examined)
    if symbol not in found.symbols:
        found.symbols[symbol] = _search_installed(symbol, examined)
    return found.symbols[symbol]


def recorded_symbol(symbol: str, release: str) -> Symbol | None:
    """The symbol in a recorded release, with its path there.

    Raises:
        RecordError: `release` is not recorded.
    """
    return search_in(symbol, symbol_record(release))


def _search_installed(symbol: str, examined: Installation) -> Symbol | None:
    if examined.kind != "present" or examined.location is None:
        return None
    tree = open_tree(examined.location)
    if tree is None:
        return None
    with tree:
        return search_in(symbol, Package(tree))


def search_in(symbol: str, modules: Modules) -> Symbol | None:
    """The symbol in any AITER whose modules can be told, with its path there; None when it has none."""
    found = _first(symbol, modules)
    if found is not None:
        return found
    # A re-export that this AITER lacks, of something that it may have all the same.
    for defined in _recorded_definition(symbol):
        found = _first(defined, modules)
        if found is not None:
            return found
    return None


def _first(symbol: str, modules: Modules) -> Symbol | None:
    return next((found for path in known_paths(symbol) if (found := find(modules, path)) is not None), None)


@lru_cache(maxsize=512)
def _recorded_definition(symbol: str) -> tuple[str, ...]:
    """Where recorded releases define what they have at `symbol`, newest first."""
    defined: dict[str, None] = {}
    for release in reversed(symbol_releases()):
        found = symbol_record(release).find(symbol)
        if found is not None and found.path != symbol:
            defined.setdefault(found.path)
    return tuple(defined)
