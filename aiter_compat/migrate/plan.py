"""What a rule wants for one imported symbol of AITER's.

A plan answers for dotted paths; it knows nothing of syntax. `ShimPlan` sends AITER's fused MoE and its enums to
aiter_compat; `PathPlan` sends moved symbols to the path that a range of releases has, or to `aiter_compat.load`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aiter_compat.checker.release_view import ReleaseView
from aiter_compat.errors import InvalidArgument
from aiter_compat.migration_model import Migration
from aiter_compat.releases.symbol_records import symbol_record, symbol_releases
from aiter_compat.symbols.contracts import contract_change
from aiter_compat.symbols.moves import known_paths

SHIM = "aiter_compat"
MOVED = "moved-symbol"
"""Rule of the moves that no migration speaks of by name: those of `symbols/data/moves.json`."""


@dataclass(frozen=True)
class Destination:
    """Where a symbol is to be taken from.

    Attributes:
        rule: the rule that says so.
        module: module to import it from; "" when it has to be looked up at run time.
        name: its name there; for a look-up the path to ask for.
        parameters: names under which a function of aiter_compat takes arguments on every release.
        refused: why the plan leaves the symbol where it is all the same; "" when it does not.
    """

    rule: str
    module: str
    name: str
    parameters: frozenset[str] = frozenset()
    refused: str = ""


class Plan(Protocol):
    """Answers where a symbol is to be taken from."""

    @property
    def names(self) -> frozenset[str]:
        """Names that would have to be looked for behind an `import *`."""

    def destination(self, path: str) -> Destination | None:
        """Where the symbol at `path` should come from; None to leave it."""


@dataclass(frozen=True)
class ShimPlan:
    """AITER's fused MoE and its enums come from aiter_compat.

    Attributes:
        rules: path where a symbol is defined in some release -> where it goes.
    """

    rules: Mapping[str, Destination]
    _known: dict[str, Destination | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, migrations: Iterable[Migration], only: Collection[str] = (), skip: Collection[str] = ()) -> ShimPlan:
        """The plan of the host-to-shim rewrites among these migrations.

        Raises:
            InvalidArgument: `only` or `skip` names none of their rules.
        """
        shims = {one.code: one for one in migrations if one.kind == "host to shim"}
        chosen = [shims[rule] for rule in _chosen(tuple(shims), only, skip)]
        return cls({path: _to_shim(one) for one in chosen for path in (one.symbol, *known_paths(one.symbol))})

    @property
    def names(self) -> frozenset[str]:
        """See `Plan`."""
        return frozenset(one.name for one in self.rules.values())

    def destination(self, path: str) -> Destination | None:
        """See `Plan`. Any path that leads to the symbol in some release counts, re-exports as well."""
        if path not in self._known:
            self._known[path] = self._found(path)
        return self._known[path]

    def _found(self, path: str) -> Destination | None:
        if path.rpartition(".")[2] not in self.names:
            return None
        if path in self.rules:
            return self.rules[path]
        for release in reversed(symbol_releases()):
            symbol = ReleaseView.of(release).find(path)
            if symbol is not None and symbol.path in self.rules:
                return self.rules[symbol.path]
        return None


@dataclass(frozen=True)
class PathPlan:
    """Symbols come from the newest path that every release of a range has, or are looked up.

    Attributes:
        views: the releases, oldest first.
        rules: path of a symbol that a migration speaks of -> the migration's code.
        chosen: the rules that are wanted.
    """

    views: Sequence[ReleaseView]
    rules: Mapping[str, str]
    chosen: frozenset[str]
    _known: dict[str, Destination | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        releases: Iterable[str],
        migrations: Iterable[Migration],
        only: Collection[str] = (),
        skip: Collection[str] = (),
    ) -> PathPlan:
        """The plan for these recorded releases.

        Raises:
            InvalidArgument: `only` or `skip` names none of its rules.
            RecordError: a release is not recorded.
        """
        moved = [one for one in migrations if one.kind in ("moved symbol", "renamed symbol") and one.matches is None]
        rules = {path: one.code for one in moved for path in (one.symbol, one.detail)}
        chosen = _chosen((MOVED, *(one.code for one in moved)), only, skip)
        return cls([ReleaseView.of(release) for release in releases], rules, frozenset(chosen))

    @property
    def names(self) -> frozenset[str]:
        """See `Plan`: none, since a name of its own moves with a module that is imported from by name."""
        return frozenset()

    def destination(self, path: str) -> Destination | None:
        """See `Plan`."""
        if path not in self._known:
            found = self._found(path)
            self._known[path] = found if found is not None and found.rule in self.chosen else None
        return self._known[path]

    def _found(self, path: str) -> Destination | None:
        paths = known_paths(path)
        if len(paths) < 2:
            return None
        rule = next((self.rules[one] for known in paths for one in _upwards(known) if one in self.rules), MOVED)
        newest = next((one for one in paths if all(_importable(view, one) for view in self.views)), "")
        if newest == path or (newest and self._is_given_by_package(path, newest)):
            return None
        if newest and (paths.index(newest) < paths.index(path) or not self._has_any(path)):
            module, _, name = newest.rpartition(".")
            return Destination(rule, module, name)
        if all(any(_importable(view, one) for one in paths) for view in self.views):
            return Destination(rule, "", path, refused=_changed_contract(path, paths))
        return None  # some release lacks it under every name: the checker's business

    def _is_given_by_package(self, path: str, newest: str) -> bool:
        """Whether a package goes on giving what moved into a module of its own; that is its public name then."""
        package, _, name = path.rpartition(".")
        return newest.startswith(f"{package}.") and all(
            _importable(view, path) and not _is_lazy(view, package, name) for view in self.views
        )

    def _has_any(self, path: str) -> bool:
        return any(_importable(view, path) for view in self.views)


def _importable(view: ReleaseView, path: str) -> bool:
    return view.imported(path.rpartition(".")[0], path).lack is None


def _is_lazy(view: ReleaseView, package: str, name: str) -> bool:
    """Whether AITER's finder for old names serves it."""
    names = symbol_record(view.release, exact=True).names(package)
    return names is not None and name in names.lazy


def _changed_contract(path: str, paths: Iterable[str]) -> str:
    change = next((row for one in paths if (row := contract_change(path, one)) is not None), None)
    if change is None:
        return ""
    return f"no one path serves all these releases, and its signature changed in v{', v'.join(change.since)}"


def _upwards(path: str) -> Iterator[str]:
    """The path and those of the packages around it."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _to_shim(migration: Migration) -> Destination:
    newest = symbol_record(symbol_releases()[-1]).find(migration.symbol)
    parameters = () if newest is None else newest.parameters or ()
    return Destination(migration.code, SHIM, migration.detail, frozenset(one.name for one in parameters))


def _chosen(rules: Sequence[str], only: Collection[str], skip: Collection[str]) -> list[str]:
    for name in (*only, *skip):
        if name not in rules:
            raise InvalidArgument("rule", name, f"one of {', '.join(sorted(rules))}")
    return [rule for rule in rules if (not only or rule in only) and rule not in skip]
