"""Where prepared calls are kept: functions that run a call of a kind that was validated and decided before.

A prepared call looks at the arguments that it gets, and either runs the call or answers `MISSED`, so asking the wrong
one costs time and nothing else. What a function was prepared from beyond its arguments (installation, environment,
settings, outcome of the import) is the process's, and `ac.refresh()` drops all of them with it.

Nothing here is locked: tables are replaced as a whole, so that the worst two threads can do is to lose an entry, which
is then prepared again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MISSED = object()
"""What a prepared call answers to arguments of another kind."""

_TRIED_FIRST = 4
_MOST_KINDS = 128
_MOST_OF_ONE_LAYER = 8

Prepared = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class KnownLayers:
    """A kind of call for layers that made such a call before, where identity is trusted.

    Attributes:
        run: the prepared call. It takes only the arguments that its front passes on, and trusts that the layer's
            tensors still have the shapes, dtypes, devices and marks that they had.
        layer: position of the argument by whose object a layer is known.
        scalars: positions of the arguments that the front compares by identity.
    """

    run: Prepared
    layer: int
    scalars: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of call.

    Attributes:
        run: takes any call, all arguments by position; its guards read the metadata of every tensor.
        known: None where identity is not trusted.
    """

    run: Prepared
    known: KnownLayers | None = None


Entries = tuple[tuple[Any, ...], ...]
"""Prepared calls of one layer: the plain arguments of each, then the function."""


class PreparedCalls:
    """Prepared calls of one public function and one list of arguments, all from the same state of the process.

    Attributes:
        first: those to try first, whatever the layer.
        known: id of the object that a layer is known by -> its prepared calls; None where identity is not trusted. An
            entry goes when that object does, so an id that is found belongs to a living one.
    """

    __slots__ = ("_kinds", "_references", "first", "known")

    def __init__(self) -> None:
        self.first: tuple[Prepared, ...] = ()
        self.known: dict[int, Entries] | None = None
        self._kinds: tuple[Kind, ...] = ()
        self._references: dict[int, weakref.ref[Any]] = {}

    def add(self, kind: Kind, arguments: Sequence[Any]) -> None:
        """Keep a kind, in front of the others, and drop the one that went unused the longest where there are too many.

        Args:
            kind: what was prepared.
            arguments: of the call that it was prepared for.
        """
        self._put_first((kind, *self._kinds[: _MOST_KINDS - 1]))
        if kind.known is not None:
            self._know(kind.known, arguments)

    def search(self, arguments: Sequence[Any]) -> Any:
        """Run the call by any kind that takes it; `MISSED` when none does."""
        for kind in self._kinds:
            result = kind.run(*arguments)
            if result is not MISSED:
                self._put_first((kind, *(other for other in self._kinds if other is not kind)))
                if kind.known is not None:
                    self._know(kind.known, arguments)
                return result
        return MISSED

    def _put_first(self, kinds: tuple[Kind, ...]) -> None:
        self._kinds = kinds
        self.first = tuple(kind.run for kind in kinds[:_TRIED_FIRST])

    def _know(self, layers: KnownLayers, arguments: Sequence[Any]) -> None:
        if self.known is None:
            self.known = {}
        known, references = self.known, self._references
        layer = arguments[layers.layer]
        key = id(layer)

        def forget(_: object) -> None:
            known.pop(key, None)
            references.pop(key, None)

        if key not in references:
            references[key] = weakref.ref(layer, forget)
        entry = (*(arguments[position] for position in layers.scalars), layers.run)
        known[key] = (entry, *known.get(key, ())[: _MOST_OF_ONE_LAYER - 1])


class Shelf:
    """Holds the prepared calls of one public function; made once, emptied by `forget_prepared_calls`.

    Attributes:
        plain: of calls without the arguments that are seldom given.
        full: of calls with any of them.
    """

    __slots__ = ("full", "plain")

    def __init__(self) -> None:
        self.empty()
        _shelves.append(self)

    def empty(self) -> None:
        """Put new tables in the place of the old ones, which stay with whoever holds them."""
        self.plain, self.full = PreparedCalls(), PreparedCalls()


_shelves: list[Shelf] = []


def forget_prepared_calls(shelves: Iterable[Shelf] = _shelves) -> None:
    """Validate and decide anew; what is being prepared at this moment lands in the table that it began with."""
    for shelf in shelves:
        shelf.empty()
