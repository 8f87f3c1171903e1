"""Collects the uses that a walk over a file meets, with the context in which it meets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiter_compat.hostscan.attempts import Attempt
from aiter_compat.hostscan.model import Arguments, Condition, Place, Requirement, Scope, Target, Use, UseKind
from aiter_compat.hostscan.values import Values


@dataclass
class FunctionNotes:
    """What the walk over one function learns about calls of it.

    Attributes:
        returns: what it may return.
        looks_for: what its tests and guarded imports ask AITER for.
        answers: every value that it returns is a truth value, as far as one can see.
    """

    returns: Values = ()
    looks_for: list[Requirement] = field(default_factory=list)
    answers: bool = True


class Recording:
    """The uses of one file, and where the walk stands.

    Attributes:
        scope: whether the code runs when the file is imported.
        conditions: tests around the current place.
        caught: names of the exceptions that survive at the current place.
        attempts: for each enclosing `try`, what every run of its body asks for, so far.
        notes: what is learnt about the current function.
    """

    def __init__(self) -> None:
        self.uses: dict[Use, None] = {}
        self.scope: Scope = "module"
        self.conditions: tuple[Condition, ...] = ()
        self.caught: frozenset[str] = frozenset()
        self.attempts: list[list[Attempt]] = []
        self.notes = FunctionNotes()
        self._muted = 0

    def place(self, node: ast.stmt | ast.expr, item: ast.AST | None = None) -> Place:
        """The current place, at the first line of `node`; `item` is the name or keyword in question."""
        line = int(getattr(item, "lineno", node.lineno))
        return Place(node.lineno, line, self.scope, self.conditions, self.caught)

    def record(
        self,
        kind: UseKind,
        targets: tuple[Target, ...],
        place: Place,
        *,
        module: str = "",
        arguments: Arguments | None = None,
    ) -> None:
        """Note a use, once."""
        if targets and not self._muted:
            self.uses.setdefault(Use(kind, targets, place, module, arguments))

    def attempt(self, path: str, error: str = "ImportError") -> None:
        """Note that the innermost `try` depends on this path being there; `OTHER` for an import of something else."""
        if self.attempts and not self._muted:
            self.attempts[-1].append(Attempt(path, error))

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Code that not every run of the enclosing `try` comes through."""
        self.attempts.append([])
        try:
            yield
        finally:
            self.attempts.pop()

    def looks_for(self, conditions: tuple[Condition, ...]) -> None:
        """Note that the current function asks for this."""
        for condition in conditions:
            self.notes.looks_for += [one for one in condition.requirements if one not in self.notes.looks_for]

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Look at an expression without noting its uses."""
        self._muted += 1
        try:
            yield
        finally:
            self._muted -= 1

    @contextmanager
    def under(self, *conditions: Condition, caught: frozenset[str] = frozenset()) -> Iterator[None]:
        """Add conditions and survived exceptions for a while."""
        saved = self.conditions, self.caught
        self.conditions += tuple(condition for condition in conditions if condition not in self.conditions)
        self.caught |= caught
        try:
            yield
        finally:
            self.conditions, self.caught = saved
