"""Every name that a module of AITER binds, from its syntax tree: definitions, imports, `__all__`, `__getattr__`.

Of several bindings of one name the one that a working import leaves is taken: the body of a `try` before its
handlers, the body of an `if` before its `else`, the last before earlier ones; a bare None or False, which stands in for
what could not be imported, comes last. What `if TYPE_CHECKING` and `if __name__ == "__main__"` hold is not bound at
import. Names of other packages (torch, triton) that a module imports are not AITER's symbols and are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from aiter_compat.probe.lazy_names import lazy_names
from aiter_compat.probe.model import Symbol
from aiter_compat.probe.module_names import ModuleNames
from aiter_compat.probe.parameters import Parameter
from aiter_compat.probe.python_source import parameters_of, symbol_of

_PACKAGE = "aiter"
_Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


class _Candidate(NamedTuple):
    """One binding of a name; the smallest wins.

    Attributes:
        stands_in: a bare constant.
        depth: how many handlers and else branches it lies in.
        order: negative position, so that later ones are smaller.
        bound: the symbol that is defined, or the path that is imported.
    """

    stands_in: bool
    depth: int
    order: int
    bound: Symbol | str


def names_in(statements: Iterable[ast.stmt], module: str, *, is_package: bool) -> ModuleNames:
    """The names that a module binds.

    Args:
        statements: its body, or those of its statements that matter.
        module: its dotted name.
        is_package: whether it is the `__init__` of a package, which relative imports start from.
    """
    reading = _Reading(module, module if is_package else module.rpartition(".")[0])
    for statement, depth in _executed(statements, 0):
        reading.statement(statement, depth)
    return reading.result()


def _executed(statements: Iterable[ast.stmt], depth: int) -> Iterator[tuple[ast.stmt, int]]:
    for statement in statements:
        if isinstance(statement, ast.If):
            if not _never_at_import(statement.test):
                yield from _executed(statement.body, depth)
                yield from _executed(statement.orelse, depth + 1)
            else:
                yield from _executed(statement.orelse, depth)
        elif isinstance(statement, ast.Try):
            yield from _executed([*statement.body, *statement.orelse, *statement.finalbody], depth)
            for handler in statement.handlers:
                yield from _executed(handler.body, depth + 1)
        elif isinstance(statement, ast.With):
            yield from _executed(statement.body, depth)
        else:
            yield statement, depth


def _never_at_import(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return text in ("TYPE_CHECKING", "typing.TYPE_CHECKING") or text.replace('"', "'") == "__name__ == '__main__'"


class _Reading:
    """What was read of a module so far."""

    def __init__(self, module: str, package: str) -> None:
        self._module = module
        self._package = package
        self._candidates: dict[str, list[_Candidate]] = {}
        self._stars: list[str] = []
        self._exports: list[str] | None = None
        self._tables: dict[str, Mapping[str, str | None]] = {}
        self._aliases: dict[str, str] = {}
        self._lazy: ast.FunctionDef | None = None
        self._position = 0

    def statement(self, statement: ast.stmt, depth: int) -> None:
        self._position -= 1
        if isinstance(statement, ast.FunctionDef) and statement.name == "__getattr__":
            self._lazy = statement
        elif isinstance(statement, (*_Functions, ast.ClassDef)):
            self._define(statement, statement.name, depth)
        elif isinstance(statement, ast.ImportFrom):
            self._from(statement, depth)
        elif isinstance(statement, ast.Import):
            self._import(statement, depth)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(statement, target, statement.value, depth)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement, statement.target, statement.value, depth)
        elif isinstance(statement, ast.AugAssign):
            if _is_all(statement.target):
                self._export(statement.value)
        elif isinstance(statement, ast.Expr):
            self._call(statement.value)
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self._candidates.pop(target.id if isinstance(target, ast.Name) else "", None)

    def result(self) -> ModuleNames:
        symbols: dict[str, Symbol] = {}
        imports: dict[str, str] = {}
        for name, candidates in self._candidates.items():
            best = min(candidates, key=lambda candidate: candidate[:3])
            defined = [candidate for candidate in candidates if isinstance(candidate.bound, Symbol)]
            if isinstance(best.bound, str):
                imports[name] = best.bound
            if defined:
                bound = min(defined, key=lambda candidate: candidate[:3]).bound
                if isinstance(bound, Symbol):
                    symbols[name] = bound
        for name, other in self._aliases.items():  # `topk_softplus = topk_gating`, v0.1.20
            if other in symbols and symbols.get(name) == Symbol(f"{self._module}.{name}", "variable"):
                symbols[name] = replace(symbols[other], path=f"{self._module}.{name}")
        lazy = {} if self._lazy is None else lazy_names(self._lazy, self._tables, self._module)
        for name, path in lazy.items():
            if path is None and name not in symbols:
                symbols[name] = self._made(name, symbols)
        exports = None if self._exports is None else tuple(dict.fromkeys(self._exports))
        return ModuleNames(self._module, symbols, imports, tuple(dict.fromkeys(self._stars)), exports, lazy)

    def _made(self, name: str, symbols: Mapping[str, Symbol]) -> Symbol:
        """What `__getattr__` makes: the enum that a function of that name with an underscore gets from C++, or any."""
        path = f"{self._module}.{name}"
        factory = symbols.get(f"_{name}")
        is_enum = factory is not None and factory.kind == "function" and len(factory.parameters or ()) == 1
        return Symbol(path, "enum", enum_kind="pybind") if is_enum else Symbol(path, "variable")

    def _bind(self, name: str, bound: Symbol | str, depth: int, *, stands_in: bool = False) -> None:
        self._candidates.setdefault(name, []).append(_Candidate(stands_in, depth, self._position, bound))

    def _define(self, statement: ast.stmt, name: str, depth: int) -> None:
        symbol = symbol_of(statement, f"{self._module}.{name}", name)
        if symbol is not None and symbol.kind == "class" and isinstance(statement, ast.ClassDef):
            symbol = replace(symbol, parameters=_constructor(statement))
        if symbol is not None:
            self._bind(name, symbol, depth)

    def _from(self, statement: ast.ImportFrom, depth: int) -> None:
        source = self._source(statement)
        if source is None:
            return
        for alias in statement.names:
            if alias.name == "*":
                self._stars.append(source)
            else:
                self._bind(alias.asname or alias.name, f"{source}.{alias.name}", depth)

    def _source(self, statement: ast.ImportFrom) -> str | None:
        """The module that is imported from, when it is AITER's."""
        if not statement.level:
            named = statement.module or ""
            return named if named.partition(".")[0] == _PACKAGE else None
        parts = self._package.split(".")
        parts = parts[: len(parts) - statement.level + 1]
        return ".".join([*parts, *([statement.module] if statement.module else [])]) if parts else None

    def _import(self, statement: ast.Import, depth: int) -> None:
        for alias in statement.names:
            if alias.asname is not None and alias.name.startswith(f"{_PACKAGE}."):
                self._bind(alias.asname, alias.name, depth)

    def _assign(self, statement: ast.stmt, target: ast.expr, value: ast.expr, depth: int) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._assign(statement, element, ast.Tuple([], ast.Load()), depth)
        if not isinstance(target, ast.Name):
            return
        if _is_all(target):
            self._exports = []
            self._export(value)
            return
        path = f"{self._module}.{target.id}"
        symbol = symbol_of(statement, path, target.id) or Symbol(path, "variable")
        stands_in = isinstance(value, ast.Constant) and value.value in (None, False)
        self._bind(target.id, symbol, depth, stands_in=stands_in)
        self._aliases.pop(target.id, None)
        if isinstance(value, ast.Name):
            self._aliases[target.id] = value.id
        elif isinstance(value, ast.Dict):
            self._tables[target.id] = _table(value)

    def _export(self, value: ast.expr) -> None:
        """Add to `__all__`; what cannot be read makes it unknown for good."""
        names = self._names(value)
        if names is None:
            self._exports = None
        elif self._exports is not None:
            self._exports += names

    def _names(self, value: ast.expr) -> list[str] | None:
        if isinstance(value, (ast.List, ast.Tuple)):
            names: list[str] = []
            for element in value.elts:
                if not (isinstance(element, ast.Constant) and isinstance(element.value, str)):
                    return None
                names.append(element.value)
            return names
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("list", "sorted", "tuple") and value.args:
            argument = value.args[0]
            if isinstance(argument, ast.Name) and argument.id in self._tables:
                return list(self._tables[argument.id])
        return None

    def _call(self, value: ast.expr) -> None:
        """`__all__.extend([...])` and `__all__.append("...")`."""
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and _is_all(value.func.value)):
            return
        if value.func.attr == "extend" and value.args:
            self._export(value.args[0])
        elif value.func.attr == "append" and value.args:
            self._export(ast.List(value.args, ast.Load()))


def _is_all(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "__all__"


def _constructor(statement: ast.ClassDef) -> tuple[Parameter, ...] | None:
    for inner in statement.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return parameters_of(inner.args)[1:]
    return None


def _table(value: ast.Dict) -> dict[str, str | None]:
    table: dict[str, str | None] = {}
    for key, item in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            table[key.value] = item.value if isinstance(item, ast.Constant) and isinstance(item.value, str) else None
    return table
