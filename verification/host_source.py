"""What a host's files ask AITER for, read with ast alone and without following the flow of the program.

It sees less than aiter_compat.hostscan (only names that stand for one thing in the whole file), but sees it in another
way: whatever it sees has to agree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

_DEPTH = 5


class Asked(NamedTuple):
    """Something that a file asks for.

    Attributes:
        kind: "import", "attribute" or "keyword".
        path: dotted; for an import of a name its module is `module`.
        module: of an import, the module that the statement names.
        keyword: of a call.
        first: first line of the node.
        last: last line of the node.
        base: the part of `path` that an import of the file (or of another file of the host) answers for.
    """

    kind: str
    path: str
    module: str
    keyword: str
    first: int
    last: int
    base: str


class Host:
    """A tree of a host.

    Args:
        root: the folder that holds its packages.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, HostFile] = {}

    def names(self) -> list[str]:
        """Files that have the word, relative to the tree."""
        found = []
        for path in sorted(self.root.rglob("*.py")):
            if b"aiter" in path.read_bytes():
                found.append(path.relative_to(self.root).as_posix())
        return found

    def file(self, name: str) -> HostFile:
        """One file."""
        if name not in self._files:
            self._files[name] = HostFile(self, name)
        return self._files[name]

    def module(self, module: str) -> HostFile | None:
        """The file of a module of the host."""
        for name in (f"{module.replace('.', '/')}.py", f"{module.replace('.', '/')}/__init__.py"):
            if (self.root / name).is_file():
                return self.file(name)
        return None


class HostFile:
    """One file of a host.

    Args:
        host: the tree.
        name: relative to it.
    """

    def __init__(self, host: Host, name: str) -> None:
        self._host = host
        self.name = name
        self.text = (host.root / name).read_text(encoding="utf-8", errors="replace")
        self.tree = ast.parse(self.text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def nodes_at(self) -> dict[int, list[ast.AST]]:
        """Line -> the nodes that begin there."""
        nodes: dict[int, list[ast.AST]] = {}
        for node in ast.walk(self.tree):
            nodes.setdefault(getattr(node, "lineno", 0), []).append(node)
        return nodes

    @cached_property
    def _origins(self) -> dict[str, set[str]]:
        """Name -> everything that any scope of the file binds to it; "=" for what is no import."""
        origins: dict[str, set[str]] = {}
        for node in ast.walk(self.tree):
            for name, origin in self._bindings(node):
                origins.setdefault(name, set()).add(origin)
        return origins

    def _bindings(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    (alias.asname or alias.name.partition(".")[0]),
                    alias.name if alias.asname else alias.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{self.absolute(node)}.{alias.name}"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, "="
        elif isinstance(node, ast.arg):
            yield node.arg, "="
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, "="
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, "="

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that `from … import` names."""
        if not node.level:
            return node.module or ""
        parts = self.name.removesuffix(".py").split("/")[: -node.level]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def origin(self, name: str, depth: int = 0) -> str | None:
        """The one path of AITER's that a name stands for, through other files of the host; None for anything else."""
        origins = self._origins.get(name, set())
        if len(origins) != 1 or depth > _DEPTH:
            return None
        (path,) = origins
        if path.partition(".")[0] == "aiter":
            return path
        module, _, inner = path.rpartition(".")
        other = self._host.module(module) if module else None
        return None if other is None else other.origin(inner, depth + 1)

    def is_in_function(self, node: ast.AST) -> bool:
        """Whether importing the file does not run the node."""
        while node in self.parents:
            inner, node = node, self.parents[node]
            body = node.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else []
            if inner is body or (isinstance(body, list) and inner in body):
                return True
        return False

    def catchers(self, node: ast.AST) -> set[str]:
        """Exceptions that a `try` around the node catches in the same function and does not raise again."""
        caught: set[str] = set()
        while node in self.parents:
            inner, node = node, self.parents[node]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                break
            if isinstance(node, ast.Try) and inner in node.body:
                for handler in node.handlers:
                    if not any(isinstance(one, ast.Raise) for one in handler.body):
                        caught |= _names(handler.type)
        return caught

    def asked(self) -> Iterator[Asked]:
        """Everything that the file asks of AITER, as far as one can see without following it."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and self.absolute(node).partition(".")[0] == "aiter":
                module = self.absolute(node)
                for alias in node.names:
                    if alias.name != "*":
                        yield _asked("import", f"{module}.{alias.name}", node, module=module)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.partition(".")[0] == "aiter":
                        yield _asked("import", alias.name, node, module=alias.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                path = self._chain(node)
                if path is not None and not isinstance(self.parents.get(node), ast.Attribute):
                    yield _asked("attribute", path[0], node, base=path[1])
            if isinstance(node, ast.Call):
                path = self._chain(node.func)
                for keyword in node.keywords if path is not None else ():
                    if keyword.arg is not None and path is not None:
                        yield _asked("keyword", path[0], node, keyword=keyword.arg, base=path[1])

    def _chain(self, node: ast.expr) -> tuple[str, str] | None:
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        base = self.origin(node.id) if isinstance(node, ast.Name) else None
        return None if base is None else (".".join([base, *reversed(names)]), base)


def _asked(
    kind: str, path: str, node: ast.stmt | ast.expr, module: str = "", keyword: str = "", base: str = ""
) -> Asked:
    return Asked(kind, path, module, keyword, node.lineno, node.end_lineno or node.lineno, base)


def _names(node: ast.expr | None) -> set[str]:
    if node is None:
        return {"*"}
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    return {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in elements}
