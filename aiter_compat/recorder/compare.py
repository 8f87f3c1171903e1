"""What changed between two recorded releases: moved, added and removed symbols, signatures, enum members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiter_compat.probe.model import Symbol
from aiter_compat.probe.signatures import incompatibilities
from aiter_compat.releases.symbol_records import SymbolRecord

# Of the parameter names of two functions, the share that both have, from which on one may be the other moved.
_SIMILAR = 0.6


@dataclass(frozen=True)
class SignatureChange:
    """A function, or a class with its constructor, that takes other parameters than before.

    Attributes:
        before: the symbol in the older release.
        after: the symbol in the newer one.
        problems: what breaks for a call written for the older one; empty when nothing does.
    """

    before: Symbol
    after: Symbol
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Changes:
    """What changed from one release to a later one. Paths are those where a symbol is defined.

    Attributes:
        older: the release compared from.
        newer: the release compared to.
        moved: old path -> new path of symbols that vanished at one place and appeared, alike, at one other.
        added: paths of new symbols.
        removed: paths of symbols that are gone.
        signatures: of symbols that stayed, or moved, and take other parameters.
        redirected: names of the package `aiter` itself that lead to another definition than before, without its having
            moved there: name -> path before and after.
        members: path of an enum -> member -> its value before and after, None where it has none.
    """

    older: str
    newer: str
    moved: Mapping[str, str]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    signatures: tuple[SignatureChange, ...]
    redirected: Mapping[str, tuple[str, str]]
    members: Mapping[str, Mapping[str, tuple[int | str | None, int | str | None]]]


def compare(older: SymbolRecord, newer: SymbolRecord) -> Changes:
    """Compare two releases, by the paths where their symbols are defined."""
    before, after = older.symbols(), newer.symbols()
    gone = [path for path in before if path not in after]
    new = [path for path in after if path not in before]
    moved = _moved([before[path] for path in gone], [after[path] for path in new])
    pairs = [(before[path], after[path]) for path in before if path in after]
    pairs += [(before[old], after[path]) for old, path in moved.items()]
    arrived = set(moved.values())
    return Changes(
        older.release,
        newer.release,
        moved,
        tuple(path for path in new if path not in arrived),
        tuple(path for path in gone if path not in moved),
        tuple(change for pair in pairs if (change := _signature_change(*pair)) is not None),
        _redirected(older.exported(), newer.exported(), moved),
        {one.path: changed for one, other in pairs if (changed := _member_changes(one, other))},
    )


def _redirected(
    before: Mapping[str, str], after: Mapping[str, str], moved: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    return {
        name: (path, after[name])
        for name, path in before.items()
        if name in after and after[name] not in (path, moved.get(path))
    }


def _moved(gone: Iterable[Symbol], new: Iterable[Symbol]) -> dict[str, str]:
    by_name: dict[str, list[Symbol]] = {}
    for symbol in new:
        by_name.setdefault(_name(symbol), []).append(symbol)
    moved: dict[str, str] = {}
    for symbol in gone:
        if symbol.kind == "variable":  # nothing but a name to go by
            continue
        alike = [other for other in by_name.get(_name(symbol), ()) if _alike(symbol, other)]
        nearest = sorted(alike, key=lambda other: -_shared_parts(symbol.path, other.path))
        if nearest:
            moved[symbol.path] = nearest[0].path
    return moved


def _name(symbol: Symbol) -> str:
    return symbol.path.rpartition(".")[2]


def _shared_parts(one: str, other: str) -> int:
    """How many parts of the paths are the same; the file's own name is the most telling one."""
    left, right = one.split("."), other.split(".")
    return len({*left} & {*right}) + 2 * (left[-2] == right[-2])


def _alike(one: Symbol, other: Symbol) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind == "enum":
        return one.members == other.members
    left = {parameter.name for parameter in one.parameters or ()}
    right = {parameter.name for parameter in other.parameters or ()}
    return len(left & right) >= _SIMILAR * max(len(left), len(right))


def _signature_change(before: Symbol, after: Symbol) -> SignatureChange | None:
    if before.parameters is None or after.parameters is None or before.parameters == after.parameters:
        return None
    return SignatureChange(before, after, incompatibilities(before.parameters, after.parameters))


def _member_changes(before: Symbol, after: Symbol) -> dict[str, tuple[int | str | None, int | str | None]]:
    old, new = before.members or {}, after.members or {}
    return {
        name: (old.get(name), new.get(name)) for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)
    }
