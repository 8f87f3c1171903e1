"""What is known of a file as a whole, in whatever order it says so: learnt in one walk, used in the next."""

from __future__ import annotations

from typing import Final, TypeVar

from aiter_compat.hostscan.environment import Environment, FunctionLike, names_of
from aiter_compat.hostscan.model import HOST, Requirement, Target
from aiter_compat.hostscan.values import Function, Instance, Values, merged, targets

KEYWORDS: Final = "**"
"""The parameter under which all keywords that a function is called with are noted."""

_Key = TypeVar("_Key")

_MOST_BASES = 8  # classes that derive from one another in turn


class Tables:
    """Attributes of classes, names that functions declare global, what functions return, receive and look for.

    A walk writes its own tables and reads those of the walk before, which knew less of what guards what; the first one
    reads what it wrote so far.

    Args:
        before: the tables of the walk before; None for the first.

    Attributes:
        version_tests: whether a comparison or call, by the identity of its node, is about AITER's version.
    """

    def __init__(self, before: Tables | None = None) -> None:
        self._known = self if before is None else before
        self._attributes: dict[tuple[str, str], Values] = {}
        self._bases: dict[str, Values] = {}
        self._globals: dict[str, Values] = {}
        self._returns: dict[str, Values] = {}
        self._received: dict[tuple[str, int | str], Values] = {}
        self._scopes: dict[int, tuple[frozenset[str], frozenset[str]]] = {} if before is None else before._scopes
        self._probes: dict[str, tuple[Requirement, ...]] = {}
        self.version_tests: dict[int, bool] = {} if before is None else before.version_tests

    def same_as(self, other: Tables | None) -> bool:
        """Whether a walk learnt nothing beyond the one before, so that another one would not either."""
        return self._learnt() == ([{}] * len(self._learnt()) if other is None else other._learnt())

    def _learnt(self) -> list[object]:
        return [self._attributes, self._bases, self._globals, self._returns, self._received, self._probes]

    def scope(self, parent: Environment, function: FunctionLike) -> Environment:
        """An empty scope for the body of a function of the file, whose tree outlives this object."""
        names = self._scopes.get(id(function))
        if names is None:
            names = self._scopes[id(function)] = names_of(function)
        return Environment(parent, *names)

    def attribute(self, owner: str, name: str, depth: int = 0) -> Values:
        """What the attribute of a class, or of its instances, may hold; of its bases when it has none itself."""
        known = self._known
        found = known._attributes.get((owner, name), ())
        if found or depth >= _MOST_BASES:
            return found
        bases = known._bases.get(owner, ())
        inherited = [self.attribute(base.name, name, depth + 1) for base in bases if isinstance(base, Instance)]
        hosts = [base for base in targets(bases) if base.path.startswith(HOST)]
        return merged(*inherited, tuple(Target(f"{base.path}.{name}", base.known, base.when) for base in hosts))

    def add_attribute(self, owner: str, name: str, values: Values) -> None:
        """Note one more thing that the attribute may hold."""
        _add(self._attributes, (owner, name), values)

    def add_bases(self, owner: str, values: Values) -> None:
        """Note what a class derives from."""
        _add(self._bases, owner, values)

    def attributes(self) -> dict[str, Values]:
        """Every attribute that this walk met, as `Class.name`."""
        return {f"{owner}.{name}": values for (owner, name), values in self._attributes.items()}

    def globals(self) -> dict[str, Values]:
        """Names of the module that functions bind."""
        return self._known._globals

    def add_global(self, name: str, values: Values) -> None:
        """Note what a function binds to a name of the module."""
        _add(self._globals, name, values)

    def returns(self, function: str) -> Values:
        """What a call of the function gives."""
        return self._known._returns.get(function, ())

    def add_returns(self, function: str, values: Values) -> None:
        """Note what the function returns."""
        _add(self._returns, function, values)

    def returning(self) -> dict[str, Values]:
        """Every function that returns something known, as this walk met it."""
        return self._returns

    def received(self, function: str, parameter: int | str) -> Values:
        """What calls in the file pass for a parameter, by position or name; `KEYWORDS` for all keywords together."""
        return self._known._received.get((function, parameter), ())

    def add_received(self, function: Function, parameter: int | str, values: Values) -> None:
        """Note what a call passes."""
        _add(self._received, (function.name, parameter), values)

    def probe(self, function: str) -> tuple[Requirement, ...]:
        """What a function of that name looks for, whose result tells whether it found it."""
        return self._known._probes.get(function, ())

    def add_probe(self, function: str, requirements: tuple[Requirement, ...]) -> None:
        """Note what a function looks for."""
        self._probes[function] = requirements

    def probes(self) -> dict[str, tuple[Requirement, ...]]:
        """Every function that looks for something, as this walk met it."""
        return self._probes


def _add(table: dict[_Key, Values], key: _Key, values: Values) -> None:
    if values:
        table[key] = merged(table.get(key, ()), values)
