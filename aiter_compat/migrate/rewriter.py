"""Applies decisions to a syntax tree; everything that they do not name stays byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from aiter_compat.migrate import statements
from aiter_compat.migrate.decide import Decisions
from aiter_compat.migrate.plan import Destination


class Rewriter(cst.CSTTransformer):
    """Rewrites imports, and chains of attributes after them.

    Args:
        decisions: what to do.
    """

    def __init__(self, decisions: Decisions) -> None:
        super().__init__()
        self._names = decisions.names
        self._chains = {
            id(chain): destination for _, chains in decisions.chains.values() for chain, destination in chains
        }
        self._modules = decisions.chains
        self._importing: list[bool] = [False]  # per block around: whether it already imports aiter_compat

    def leave_Attribute(  # noqa: N802 - called by its name
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """`aiter.QuantType` becomes `aiter_compat.QuantType`."""
        destination = self._chains.get(id(original_node))
        if destination is None:
            return updated_node
        return updated_node.with_changes(value=statements.dotted(destination.module), attr=cst.Name(destination.name))

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:  # noqa: N802
        """What is imported in a block is not there in another one."""
        del node
        self._importing.append(False)

    def leave_IndentedBlock(  # noqa: N802
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        """See `visit_IndentedBlock`."""
        del original_node
        self._importing.pop()
        return updated_node

    def leave_SimpleStatementLine(  # noqa: N802
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine] | cst.RemovalSentinel:
        """Imports stand in such lines, alone or beside others."""
        lines = self._lines(original_node, updated_node)
        if not any(lines):  # the import of aiter_compat that would stand here stands above already
            if not statements.comments(original_node):
                return cst.RemoveFromParent()
            lines = [[statements.import_shim()]]
        self._importing[-1] |= any(statements.imports_shim(one) for line in lines for one in line)
        if len(lines) == 1 and tuple(lines[0]) == tuple(updated_node.body):
            return updated_node
        lost = statements.lost_comments(original_node.body, [one for line in lines for one in line])
        if len(original_node.body) > 1:  # a; b on one line stay on one line
            lines = [[one for line in lines for one in line]]
        first, *more = [statements.joined(line) for line in lines]
        added = [cst.SimpleStatementLine(body=line) for line in more]
        rewritten = updated_node.with_changes(body=first)
        if not added:
            return statements.below_comments(rewritten, lost)
        added[0] = statements.below_comments(added[0], lost)
        return cst.FlattenSentinel([rewritten, *added])

    def visit_SimpleStatementSuite(self, node: cst.SimpleStatementSuite) -> None:  # noqa: N802
        """What is imported in it is not there after it."""
        del node
        self._importing.append(self._importing[-1])

    def leave_SimpleStatementSuite(  # noqa: N802
        self, original_node: cst.SimpleStatementSuite, updated_node: cst.SimpleStatementSuite
    ) -> cst.SimpleStatementSuite:
        """`if x: import aiter` on one line."""
        lines = self._lines(original_node, updated_node)
        self._importing.pop()
        flat = [one for line in lines for one in line]
        if tuple(flat) == tuple(updated_node.body):
            return updated_node
        return updated_node.with_changes(body=statements.joined(flat or [cst.Pass()]))

    def _lines(
        self,
        before: cst.SimpleStatementLine | cst.SimpleStatementSuite,
        after: cst.SimpleStatementLine | cst.SimpleStatementSuite,
    ) -> list[list[cst.BaseSmallStatement]]:
        """The statements that take the place of a line: those of the line itself, then one line for each new one."""
        lines: list[list[cst.BaseSmallStatement]] = [[]]
        for old, new in zip(before.body, after.body, strict=True):
            replacement = self._statements(old, new)
            lines[-1] += replacement[:1]
            lines += [[one] for one in replacement[1:]]
        return lines

    def _statements(
        self, before: cst.BaseSmallStatement, after: cst.BaseSmallStatement
    ) -> Sequence[cst.BaseSmallStatement]:
        if isinstance(before, cst.ImportFrom) and isinstance(after, cst.ImportFrom):
            return self._from(before, after)
        if isinstance(before, cst.Import) and isinstance(after, cst.Import):
            return self._import(before, after)
        return [after]

    def _from(self, before: cst.ImportFrom, after: cst.ImportFrom) -> Sequence[cst.BaseSmallStatement]:
        if isinstance(before.names, cst.ImportStar) or isinstance(after.names, cst.ImportStar):
            return [after]
        moved = [self._names[id(alias)] for alias in before.names if id(alias) in self._names]
        look_ups = statements.look_ups(moved)
        needs_shim = bool(look_ups) or any(id(alias) in self._modules for alias in before.names)
        added = [*statements.imports(moved), *(self._import_of_shim() if needs_shim else []), *look_ups]
        gone = [id(alias) in self._names or self._is_spent(alias) for alias in before.names]
        kept = [alias for alias, is_gone in zip(after.names, gone, strict=True) if not is_gone]
        if len(kept) == len(after.names):
            return [after, *added]
        if kept:
            return [after.with_changes(names=statements.tidied(kept, after.names)), *added]
        destination = _common(moved) if len(moved) == len(after.names) else None
        if destination is not None:
            return [after.with_changes(module=statements.dotted(destination.module))]
        return added

    def _import(self, before: cst.Import, after: cst.Import) -> Sequence[cst.BaseSmallStatement]:
        if not any(id(alias) in self._modules for alias in before.names):
            return [after]
        kept = [new for old, new in zip(before.names, after.names, strict=True) if not self._is_spent(old)]
        if not kept:
            return self._import_of_shim()
        return [after.with_changes(names=statements.tidied(kept, after.names)), *self._import_of_shim()]

    def _import_of_shim(self) -> list[cst.BaseSmallStatement]:
        """The import, unless the block has it already."""
        if self._importing[-1]:
            return []
        self._importing[-1] = True
        return [statements.import_shim()]

    def _is_spent(self, alias: cst.ImportAlias) -> bool:
        """Whether every use of the name is rewritten, and nobody else is told of it."""
        if id(alias) not in self._modules:
            return False
        binding, chains = self._modules[id(alias)]
        return len(binding.references) == len(chains) and not binding.exported


def _common(moved: statements.Moved) -> Destination | None:
    """The destination when all names keep theirs and come from one module; then only that has to change."""
    modules = {destination.module for _, destination in moved}
    same = all(binding.alias.evaluated_name == destination.name for binding, destination in moved)
    return moved[0][1] if len(modules) == 1 and "" not in modules and same else None
