"""The names that are bound at a point of a file, scope by scope."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from aiter_compat.hostscan.model import Target
from aiter_compat.hostscan.values import Value, Values, merged

FunctionLike = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_BUILTINS = frozenset(dir(builtins))
_Scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_Comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Environment:
    """Names of one scope, and the scopes around it.

    Args:
        parent: the enclosing scope; None for the module.
        local: names that the scope binds somewhere, which therefore never mean an outer one.
        declared: names that the scope declares global.
        visible: False for a class body, whose names its methods do not see.
    """

    def __init__(
        self,
        parent: Environment | None,
        local: frozenset[str] = frozenset(),
        declared: frozenset[str] = frozenset(),
        *,
        visible: bool = True,
    ) -> None:
        self.parent = parent
        self.local = local
        self.declared = declared
        self.visible = visible
        self.names: dict[str, Values] = {}
        self.stars: list[Target] = []

    def bind(self, name: str, values: Values) -> None:
        """Give a name new values in this scope."""
        self.names[name] = values

    def lookup(self, name: str) -> Values:
        """What the name may stand for; empty when nothing is known of it."""
        scope: Environment | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if name in scope.local:
                return ()
            scope = scope._outer()
        return () if name in _BUILTINS else self._from_stars(name)

    def module(self) -> Environment:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def save(self) -> dict[str, Values]:
        """The bindings of this scope, to be put back or merged."""
        return dict(self.names)

    def join(self, branches: Iterable[dict[str, Values]]) -> None:
        """Bind what any of several branches leaves; where one leaves a name unbound, the others' values stay."""
        first, *others = branches
        joined = dict(first)
        for branch in others:
            for name, values in branch.items():
                known = joined.get(name)
                if known is not values:  # most names are the same in every branch
                    joined[name] = values if known is None else merged(known, values)
        self.names = joined

    def _outer(self) -> Environment | None:
        scope = self.parent
        while scope is not None and not scope.visible:
            scope = scope.parent
        return scope

    def _from_stars(self, name: str) -> Values:
        if name.startswith("_"):
            return ()
        found: list[Value] = []
        scope: Environment | None = self
        while scope is not None:
            found += [Target(f"{star.path}.{name}", 0, star.when, star=True) for star in reversed(scope.stars)]
            scope = scope.parent
        return tuple(found)


def names_of(function: FunctionLike) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a function binds for itself, and those that it declares global."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    bound = {argument.arg for argument in every if argument is not None}
    declared: set[str] = set()
    outer: set[str] = set()
    for node in _own_nodes([function.body] if isinstance(function, ast.Lambda) else function.body):
        if isinstance(node, ast.Global):
            declared.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer.update(node.names)
        else:
            bound.update(_bound_by(node))
    return frozenset(bound - declared - outer), frozenset(declared)


def _bound_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return [node.id]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    return []


def _own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node of a scope, without the insides of scopes within it."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_Scopes, *_Comprehensions)):
            waiting += ast.iter_child_nodes(node)
