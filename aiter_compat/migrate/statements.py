"""Statements and parts of statements that take the place of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import libcst as cst

from aiter_compat.migrate.bindings import Binding
from aiter_compat.migrate.plan import SHIM, Destination

Moved = Sequence[tuple[Binding, Destination]]


def imports(moved: Moved) -> list[cst.BaseSmallStatement]:
    """Statements that import the moved names from where they are now, in the order of the names."""
    grouped: dict[str, list[cst.ImportAlias]] = {}
    for binding, destination in moved:
        if destination.module:
            grouped.setdefault(destination.module, []).append(_alias(binding, destination))
    return [cst.ImportFrom(module=dotted(module), names=aliases) for module, aliases in grouped.items()]


def look_ups(moved: Moved) -> list[cst.BaseSmallStatement]:
    """Statements that give the moved names what aiter_compat finds at run time."""
    found: list[cst.BaseSmallStatement] = []
    for binding, destination in moved:
        if not destination.module:
            asked = cst.Arg(cst.SimpleString(f'"{destination.name}"'))
            call = cst.Call(dotted(f"{SHIM}.load"), [asked])
            found.append(cst.Assign([cst.AssignTarget(cst.Name(binding.local))], call))
    return found


def _alias(binding: Binding, destination: Destination) -> cst.ImportAlias:
    """`name`, or `name as local` where that was written, or where the name changed."""
    written = binding.alias.asname
    if written is None and binding.local != destination.name:
        written = cst.AsName(cst.Name(binding.local))
    return cst.ImportAlias(cst.Name(destination.name), written)


def import_shim() -> cst.Import:
    """`import aiter_compat`."""
    return cst.Import([cst.ImportAlias(cst.Name(SHIM))])


def imports_shim(statement: cst.BaseSmallStatement) -> bool:
    """Whether a statement binds the name aiter_compat to the package."""
    return isinstance(statement, cst.Import) and any(
        alias.asname is None and alias.evaluated_name == SHIM for alias in statement.names
    )


def tidied(kept: Sequence[cst.ImportAlias], every: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """The aliases that stay; the last one ends as the last one did, with its own comment."""
    if kept[-1] is every[-1]:
        return list(kept)
    end, own = every[-1].comma, kept[-1].comma
    if isinstance(end, cst.Comma) and isinstance(end.whitespace_after, cst.ParenthesizedWhitespace):
        after = own.whitespace_after if isinstance(own, cst.Comma) else None
        if isinstance(after, cst.ParenthesizedWhitespace):
            first = after.first_line
        else:
            first = end.whitespace_after.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        end = end.with_changes(whitespace_after=end.whitespace_after.with_changes(first_line=first))
    return [*kept[:-1], kept[-1].with_changes(comma=end)]


def joined(statements: Sequence[cst.BaseSmallStatement]) -> list[cst.BaseSmallStatement]:
    """Statements of one line: a semicolon between any two of them."""
    separator = cst.Semicolon(whitespace_after=cst.SimpleWhitespace(" "))
    separated = [
        one if isinstance(one.semicolon, cst.Semicolon) else one.with_changes(semicolon=separator)
        for one in statements[:-1]
    ]
    return [*separated, statements[-1]]


def dotted(name: str) -> cst.Name | cst.Attribute:
    """A dotted name as an expression."""
    first, *rest = name.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for part in rest:
        node = cst.Attribute(node, cst.Name(part))
    return node


def lost_comments(before: Iterable[cst.CSTNode], after: Iterable[cst.CSTNode]) -> list[str]:
    """Comments inside statements that those in their place do not have, in the order of the file."""
    remaining = Counter(comment for node in after for comment in comments(node))
    lost = []
    for comment in (comment for node in before for comment in comments(node)):
        if remaining[comment]:
            remaining[comment] -= 1
        else:
            lost.append(comment)
    return lost


def below_comments(line: cst.SimpleStatementLine, texts: Sequence[str]) -> cst.SimpleStatementLine:
    """The line with comments above it."""
    above = [cst.EmptyLine(comment=cst.Comment(comment)) for comment in texts]
    return line.with_changes(leading_lines=[*line.leading_lines, *above])


def comments(node: cst.CSTNode) -> list[str]:
    """Every comment in and around a node."""
    found = _Comments()
    node.visit(found)
    return found.values


class _Comments(cst.CSTVisitor):
    """Collects comments."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[str] = []

    def visit_Comment(self, node: cst.Comment) -> None:  # noqa: N802 - called by its name
        self.values.append(node.value)
