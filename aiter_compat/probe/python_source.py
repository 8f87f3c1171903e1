"""Symbols that a Python source defines, from its syntax tree.

A name that a module merely imports is not defined there. Definitions inside `try`, `if` and `with` at module level
count (v0.1.17's `aiter.fused_moe` defines a GateMode of its own where importing flydsl's fails); where a name is
defined several times, an unconditional definition wins over those, and the last of its kind over earlier ones.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from aiter_compat.probe.model import EnumKind, Symbol
from aiter_compat.probe.parameters import Parameter
from aiter_compat.probe.wanted import ENUM_MODULE, ENUMS

_ENUM_BASES: Mapping[str, EnumKind] = {
    "Enum": "plain",
    "Flag": "plain",
    "IntEnum": "int",
    "IntFlag": "int",
    "StrEnum": "str",
}
_MIXINS: Mapping[str, EnumKind] = {"str": "str", "int": "int"}


class _Unreadable(Exception):
    """The value of an enum member is not a literal."""


def symbols_in(statements: Iterable[ast.stmt], module: str, wants: Callable[[str], bool]) -> dict[str, Symbol]:
    """Symbols of the module that `wants` accepts, by dotted path.

    Args:
        statements: the body of the module.
        module: its dotted name.
        wants: whether the symbol of a given name is wanted.
    """
    always: dict[str, Symbol] = {}
    sometimes: dict[str, Symbol] = {}
    for statement, conditional in _definitions(statements, conditional=False):
        for name in _names(statement):
            symbol = symbol_of(statement, f"{module}.{name}", name) if wants(name) else None
            if symbol is None:
                continue
            if conditional:
                sometimes.setdefault(symbol.path, symbol)
            else:
                always[symbol.path] = symbol
    return {**sometimes, **always}


def _definitions(statements: Iterable[ast.stmt], *, conditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    for statement in statements:
        if isinstance(statement, (ast.Try, ast.If, ast.With)):
            yield from _definitions(statement.body, conditional=True)
            for handler in getattr(statement, "handlers", ()):
                yield from _definitions(handler.body, conditional=True)
            for part in ("orelse", "finalbody"):
                yield from _definitions(getattr(statement, part, ()), conditional=True)
        else:
            yield statement, conditional


def _names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
    elif (
        isinstance(statement, ast.AnnAssign) and statement.value is not None and isinstance(statement.target, ast.Name)
    ):
        yield statement.target.id


def symbol_of(statement: ast.stmt, path: str, name: str) -> Symbol | None:
    """The symbol that a definition makes; None for an assignment, but for those that stand for a compiled enum.

    Args:
        statement: the definition.
        path: dotted path of the symbol.
        name: its name, the last part of the path.
    """
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return Symbol(path, "function", parameters=parameters_of(statement.args))
    if isinstance(statement, ast.ClassDef):
        return _class(statement, path, name)
    if name not in ENUMS:
        return None
    if path.rpartition(".")[0] == ENUM_MODULE:  # the type of a member of the compiled module's enum
        return Symbol(path, "enum", enum_kind="pybind")
    return None  # an alias of a class that is defined elsewhere


def parameters_of(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters of a function, in order."""
    return tuple(_parameters(arguments))


def _parameters(arguments: ast.arguments) -> Iterator[Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        only = index < len(arguments.posonlyargs)
        yield Parameter(argument.arg, "positional_only" if only else "positional_or_keyword", _text(default))
    if arguments.vararg is not None:
        yield Parameter(arguments.vararg.arg, "var_positional")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield Parameter(argument.arg, "keyword_only", _text(default))
    if arguments.kwarg is not None:
        yield Parameter(arguments.kwarg.arg, "var_keyword")


def _text(expression: ast.expr | None) -> str | None:
    return None if expression is None else ast.unparse(expression)


def _class(statement: ast.ClassDef, path: str, name: str) -> Symbol:
    bases = [base for base in map(_base_name, statement.bases) if base is not None]
    enum_base = next((base for base in bases if base in _ENUM_BASES), None)
    if enum_base is not None:
        kind = next((_MIXINS[base] for base in bases if base in _MIXINS), _ENUM_BASES[enum_base])
        return Symbol(path, "enum", members=_members(statement, kind), enum_kind=kind)
    if name in ENUMS:  # a stand-in: a class that holds its values as attributes
        return Symbol(path, "enum", members=_attributes(statement), enum_kind="plain")
    return Symbol(path, "class")


def _base_name(base: ast.expr) -> str | None:
    if isinstance(base, ast.Attribute):
        return base.attr
    return base.id if isinstance(base, ast.Name) else None


def _members(statement: ast.ClassDef, kind: EnumKind) -> dict[str, int | str] | None:
    members: dict[str, int | str] = {}
    try:
        for name, expression in _assignments(statement):
            members[name] = _value(expression, name, members, kind)
    except _Unreadable:
        return None
    return members


def _attributes(statement: ast.ClassDef) -> dict[str, int | str] | None:
    members: dict[str, int | str] = {}
    for name, expression in _assignments(statement):
        try:
            members[name] = _value(expression, name, members, None)
        except _Unreadable:
            continue  # a class may hold anything else beside its values
    return members or None


def _assignments(statement: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for inner in statement.body:
        value = inner.value if isinstance(inner, (ast.Assign, ast.AnnAssign)) else None
        if value is not None:
            yield from ((name, value) for name in _names(inner) if not name.startswith("_"))


def _value(expression: ast.expr, name: str, earlier: Mapping[str, int | str], kind: EnumKind | None) -> int | str:
    if isinstance(expression, ast.Name) and expression.id in earlier:
        return earlier[expression.id]
    if kind is not None and isinstance(expression, ast.Call) and _base_name(expression.func) == "auto":
        if kind == "str":
            return name.lower()
        return max((value for value in earlier.values() if isinstance(value, int)), default=0) + 1
    try:
        value = ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError) as error:
        raise _Unreadable from error
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise _Unreadable
    return value
