"""Small questions about syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text; "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name, also behind a call; "" for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def plain_text(node: ast.AST) -> str:
    """Source text of a constant, a signed number or a dotted name; "" for anything else."""
    if isinstance(node, ast.Constant):
        return repr(node.value) if len(repr(node.value)) <= 60 else ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.unparse(node)
    return dotted(node)


def caught_by(handlers: Iterable[ast.ExceptHandler]) -> frozenset[str]:
    """Names of the exceptions that these handlers survive: those that do not raise again. "*" for a bare `except`."""
    caught: set[str] = set()
    for handler in handlers:
        if not any(isinstance(statement, ast.Raise) for statement in handler.body):
            caught |= exception_names(handler.type)
    return frozenset(caught)


def exception_names(node: ast.expr | None) -> set[str]:
    """Names of the exceptions of an `except` clause."""
    if node is None:
        return {"*"}
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    return {last_name(element) for element in elements}


def leaves(body: list[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body) and leaves(last.orelse)
    if isinstance(last, ast.Try):
        if last.finalbody and leaves(last.finalbody):
            return True
        body_leaves = leaves([*last.body, *last.orelse])
        return body_leaves and all(leaves(handler.body) for handler in last.handlers)
    if isinstance(last, ast.With):
        return leaves(last.body)
    return isinstance(last, ast.Expr) and dotted(getattr(last.value, "func", last.value)) in (
        "sys.exit",
        "pytest.skip",
    )


def asks_for_version(node: ast.Compare | ast.Call) -> bool:
    """Whether a test is about the version of AITER: `version("aiter") >= …`, `is_aiter_version(">=0.1.14")`."""
    about_aiter = about_version = False
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Name, ast.Attribute)):
            words = last_name(one).lower().strip("_").split("_")
            about_version = about_version or "version" in words
            about_aiter = about_aiter or "aiter" in words
            waiting += [one.value] if isinstance(one, ast.Attribute) else []
        elif isinstance(one, ast.Constant):
            about_aiter = about_aiter or one.value in ("aiter", "amd-aiter", "amd_aiter")
        elif isinstance(one, ast.Call):
            waiting += [one.func, *one.args]
        elif isinstance(one, ast.Compare):
            waiting += [one.left, *one.comparators]
    return about_aiter and about_version
