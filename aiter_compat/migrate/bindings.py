"""The names that a file imports from AITER, and every place where it uses them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import libcst as cst
from libcst.helpers import get_full_name_for_node
from libcst.metadata import (
    Access,
    ExpressionContext,
    ExpressionContextProvider,
    ImportAssignment,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    Scope,
    ScopeProvider,
)

from aiter_compat.migrate.guards import is_guarded

ImportNode = cst.Import | cst.ImportFrom


@dataclass(frozen=True)
class Binding:
    """One name that an import statement binds.

    Attributes:
        statement: the statement.
        alias: the part of it.
        path: what the name stands for.
        local: the name.
        line: where it stands.
        guarded: code around it survives the failure of the import.
        exported: the file lists the name in `__all__`.
        function: the function in which it is bound; None at the top of the file.
        references: every use of the name.
    """

    statement: ImportNode
    alias: cst.ImportAlias
    path: str
    local: str
    line: int
    guarded: bool
    exported: bool
    function: cst.CSTNode | None
    references: tuple[cst.Name, ...]

    def shares_name_with(self, other: Binding) -> bool:
        """Whether both are `import` statements for one package without a name of their own."""
        plain = isinstance(self.statement, cst.Import) and isinstance(other.statement, cst.Import)
        return plain and self.path == self.local == other.path == other.local


@dataclass(frozen=True)
class Star:
    """`from module import *`, which binds nobody knows what.

    Attributes:
        module: what it imports from.
        line: where it stands.
    """

    module: str
    line: int


class Bindings:
    """The imports of AITER in one file.

    Args:
        wrapper: the parsed file.
    """

    def __init__(self, wrapper: MetadataWrapper) -> None:
        self._module = wrapper.module
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._positions = wrapper.resolve(PositionProvider)
        self._contexts = wrapper.resolve(ExpressionContextProvider)
        self._scopes: list[Scope] = list(
            {id(scope): scope for scope in wrapper.resolve(ScopeProvider).values() if scope is not None}.values()
        )

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around a node."""
        return self._parents.get(node)

    def line(self, node: cst.CSTNode) -> int:
        """The line on which a node begins."""
        return int(self._positions[node].start.line)

    def is_target(self, node: cst.CSTNode) -> bool:
        """Whether something is put in the place of a name or an attribute, or it is deleted."""
        return self._contexts.get(node) in (ExpressionContext.STORE, ExpressionContext.DEL)

    def mentions(self, name: str) -> bool:
        """Whether a name stands anywhere in the file."""
        return any(isinstance(node, cst.Name) and node.value == name for node in self._positions)

    def reads_any(self, names: Collection[str], function: cst.CSTNode) -> bool:
        """Whether an expression inside a function has one of these names."""
        return any(
            context is ExpressionContext.LOAD
            and isinstance(node, cst.Name)
            and node.value in names
            and any(one is function for one in self._around(node))
            for node, context in self._contexts.items()
        )

    def all(self) -> list[Binding]:
        """Every name bound by an import of AITER, in the order of the file."""
        exported = _exported(self._module)
        found: dict[int, Binding] = {}
        for scope in self._scopes:
            bound = [
                binding
                for assignment in scope.assignments
                if isinstance(assignment, ImportAssignment)
                for binding in self._of(assignment, exported)
            ]
            for binding in bound:
                # `import aiter` and `import aiter.x` bind one name, which either may serve
                same = [one for one in bound if one.alias is binding.alias or binding.shares_name_with(one)]
                references = {id(name): name for one in same for name in one.references}
                found[id(binding.alias)] = replace(binding, references=tuple(references.values()))
        return sorted(found.values(), key=lambda binding: binding.line)

    def stars(self) -> Iterator[Star]:
        """Every import of all names of one of AITER's modules."""
        for node in self._positions:
            if isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar) and not node.relative:
                module = get_full_name_for_node(node.module) if node.module is not None else None
                if module is not None and module.partition(".")[0] == "aiter":
                    yield Star(module, self.line(node))

    def _of(self, assignment: ImportAssignment, exported: frozenset[str]) -> Iterator[Binding]:
        statement = assignment.node
        if not isinstance(statement, (cst.Import, cst.ImportFrom)) or isinstance(statement.names, cst.ImportStar):
            return
        for alias in statement.names:
            path = _path(statement, alias)
            whole = isinstance(statement, cst.ImportFrom) or alias.asname is not None
            local = alias.evaluated_alias or (alias.evaluated_name if whole else path.partition(".")[0])
            if path.partition(".")[0] == "aiter" and assignment.name in (local, alias.evaluated_name):
                yield Binding(
                    statement,
                    alias,
                    path=path if whole else local,
                    local=local,
                    line=self.line(alias),
                    guarded=is_guarded(statement, self.parent),
                    exported=local in exported,
                    function=self._function_around(statement),
                    references=tuple(self._references(assignment, local)),
                )

    def _around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        parent = self.parent(node)
        while parent is not None:
            yield parent
            parent = self.parent(parent)

    def _function_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return next((one for one in self._around(node) if isinstance(one, (cst.FunctionDef, cst.Lambda))), None)

    def _references(self, assignment: ImportAssignment, local: str) -> Iterator[cst.Name]:
        seen: set[int] = set()
        for access in assignment.references:
            name = _first_name(access)
            if name is not None and name.value == local and id(name) not in seen:
                seen.add(id(name))
                yield name


def _path(statement: ImportNode, alias: cst.ImportAlias) -> str:
    if isinstance(statement, cst.Import):
        return alias.evaluated_name
    if statement.relative or statement.module is None:
        return ""
    return f"{get_full_name_for_node(statement.module)}.{alias.evaluated_name}"


def _first_name(access: Access) -> cst.Name | None:
    node: cst.CSTNode = access.node
    while isinstance(node, cst.Attribute):
        node = node.value
    return node if isinstance(node, cst.Name) else None


def _exported(module: cst.Module) -> frozenset[str]:
    """Texts in the statements of the module that mention `__all__`."""
    found: set[str] = set()
    for line in module.body:
        if isinstance(line, cst.SimpleStatementLine) and "__all__" in module.code_for_node(line):
            texts = _Texts()
            line.visit(texts)
            found |= texts.found
    return frozenset(found)


class _Texts(cst.CSTVisitor):
    """Collects literal strings."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def visit_SimpleString(self, node: cst.SimpleString) -> None:  # noqa: N802 - called by its name
        value = node.evaluated_value
        if isinstance(value, str):
            self.found.add(value)
