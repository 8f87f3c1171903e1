"""Which of a file's imports of AITER are rewritten, and why the others are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from aiter_compat.migrate.bindings import Binding, Bindings
from aiter_compat.migrate.outcome import Note
from aiter_compat.migrate.plan import SHIM, Destination, Plan
from aiter_compat.migrate.safety import may_call, reason_against


@dataclass
class Decisions:
    """What is to be done in one file.

    Attributes:
        names: binding whose own symbol goes elsewhere -> where.
        chains: binding -> chains of attributes of it that go elsewhere, with the part that is replaced.
        notes: what is left, and why.
        callable: rules under which something is left that the host may call.
    """

    names: dict[int, tuple[Binding, Destination]] = field(default_factory=dict)
    chains: dict[int, tuple[Binding, list[tuple[cst.Attribute, Destination]]]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    callable: set[str] = field(default_factory=set)

    def leave(self, line: int, destination: Destination, reason: str, *, called: bool) -> None:
        """Leave one use as it is."""
        self.notes.append(Note(line, destination.rule, reason))
        if called:
            self.callable.add(destination.rule)

    def rules(self) -> tuple[str, ...]:
        """Those that change something, sorted."""
        found = {destination.rule for _, destination in self.names.values()}
        found |= {destination.rule for _, chains in self.chains.values() for _, destination in chains}
        return tuple(sorted(found))


def decide(bindings: Bindings, plan: Plan) -> Decisions:
    """Go through every import of AITER's."""
    decided = _decided(bindings, plan, frozenset())
    if decided.callable:  # a call that stays with AITER needs the host's questions about AITER's parameters
        decided = _decided(bindings, plan, frozenset(decided.callable))
    decided.notes += _of_stars(bindings, plan)
    return decided


def _decided(bindings: Bindings, plan: Plan, called: frozenset[str]) -> Decisions:
    """Decide each import by itself, with the rules of which calls are left."""
    decided = Decisions()
    every = bindings.all()
    names = frozenset(binding.local for binding in every if any(_chains(bindings, binding, plan, called)))
    for binding in every:
        destination = _of_path(plan, binding.path, called)
        if destination is None or not isinstance(binding.statement, cst.ImportFrom):
            _decide_chains(bindings, binding, list(_chains(bindings, binding, plan, called)), names, decided)
            continue
        reason = _against(bindings, binding, binding.references, destination)
        if reason is None and not destination.module:
            reason = _against_name_of_shim(bindings, binding, names)
        if reason is None:
            decided.names[id(binding.alias)] = binding, destination
        else:
            is_called = any(may_call(bindings, use) for use in binding.references)
            decided.leave(binding.line, destination, reason, called=is_called)
    return decided


def _of_path(plan: Plan, path: str, called: frozenset[str]) -> Destination | None:
    destination = plan.destination(path)
    if destination is None or destination.rule not in called:
        return destination
    return replace(destination, parameters=frozenset())


def _decide_chains(
    bindings: Bindings,
    binding: Binding,
    chains: Sequence[tuple[cst.Attribute, Destination]],
    names: frozenset[str],
    decided: Decisions,
) -> None:
    """`aiter.QuantType.No` after `import aiter`."""
    wanted: list[tuple[cst.Attribute, Destination]] = []
    for chain, destination in chains:
        reason = _against(bindings, binding, (chain,), destination)
        if reason is None and destination.module != SHIM:
            reason = "it is reached as an attribute of its old module; import it by name"
        if reason is None:
            reason = _against_name_of_shim(bindings, binding, names)
        if reason is None:
            wanted.append((chain, destination))
        else:
            decided.leave(bindings.line(chain), destination, reason, called=may_call(bindings, chain))
    if wanted:
        decided.chains[id(binding.alias)] = binding, wanted


def _chains(
    bindings: Bindings, binding: Binding, plan: Plan, called: frozenset[str]
) -> Iterator[tuple[cst.Attribute, Destination]]:
    """The shortest chain of attributes after each use of a name that the plan knows."""
    for name in binding.references:
        node: cst.CSTNode = name
        path = binding.path
        while isinstance(parent := bindings.parent(node), cst.Attribute) and parent.value is node:
            path += f".{parent.attr.value}"
            destination = _of_path(plan, path, called)
            if destination is not None:
                yield parent, destination
                break
            node = parent


def _against(bindings: Bindings, binding: Binding, uses: Sequence[cst.CSTNode], destination: Destination) -> str | None:
    """Why rewriting would not be safe; None when it is."""
    if destination.refused:
        return destination.refused
    if binding.guarded:
        return "the host decides by whether this import works"
    if destination.module == SHIM:
        for use in uses:
            reason = reason_against(bindings, use, destination)
            if reason is not None:
                return f"{reason} (line {bindings.line(use)})"
    return None


def _against_name_of_shim(bindings: Bindings, binding: Binding, names: frozenset[str]) -> str | None:
    """Why `import aiter_compat` cannot stand in a binding's place: Python makes the name local to a whole function."""
    if binding.function is not None and bindings.reads_any((names | {SHIM}) - {binding.local}, binding.function):
        return "the function knows AITER under another name as well, or uses aiter_compat already"
    return None


def _of_stars(bindings: Bindings, plan: Plan) -> Iterator[Note]:
    for star in bindings.stars():
        for name in filter(bindings.mentions, sorted(plan.names)):
            destination = plan.destination(f"{star.module}.{name}")
            if destination is not None:
                yield Note(star.line, destination.rule, f"an import of all names may bring {name}; import it by name")
