"""Whether a file can be a plan's concern at all, found out in a fraction of what rewriting costs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from aiter_compat.migrate.plan import Plan

_ALL = "*"


def concerns(tree: ast.Module, plan: Plan) -> bool:
    """Whether a file may use something that the plan moves."""
    bound: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        for name, path in _bound_by(node):
            if name == _ALL or plan.destination(path) is not None:
                return True
            bound.setdefault(name, set()).add(path)
    return any(
        plan.destination(f"{start}{rest}") is not None
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        for name, rest in _dotted(node)
        for start in bound.get(name, ())
    )


def _bound_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that an import of AITER binds, and what they stand for."""
    if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "aiter":
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] == "aiter":
                yield (alias.asname, alias.name) if alias.asname else ("aiter", "aiter")


def _dotted(node: ast.Attribute) -> Iterator[tuple[str, str]]:
    """`a.b.c` as "a" and ".b.c"."""
    rest = ""
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        rest = f".{inner.attr}{rest}"
        inner = inner.value
    if isinstance(inner, ast.Name):
        yield inner.id, rest
