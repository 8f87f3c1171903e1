"""The names that a module's own `__getattr__` makes on first access, and the paths that it takes them from.

Read from its text, in the forms that AITER has: `if name in ("A", "B")`, and a table of the module that is asked for
the name (`TABLE.get(name)`, `TABLE[name]`, `name in TABLE`) and holds places below the module:
`aiter/ops/triton/__init__.py` maps old module names to the modules that replaced them, and
`aiter/ops/flydsl/kernels/mega_moe/__init__.py` maps names to the modules that hold them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping


def lazy_names(
    function: ast.FunctionDef, tables: Mapping[str, Mapping[str, str | None]], module: str
) -> dict[str, str | None]:
    """The names that `function` accepts, each with the dotted path of what it gives, None where only running it tells.

    Args:
        function: the `__getattr__`.
        tables: dictionaries that the module assigns, by name; a value that is no text is None.
        module: dotted name of the module.
    """
    if not function.args.args:
        return {}
    asked = function.args.args[0].arg
    found: dict[str, str | None] = {}
    gives_attribute = any(
        isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "getattr"
        for node in ast.walk(function)
    )
    for node in ast.walk(function):
        for name in _compared(node, asked):
            found.setdefault(name, None)
        for name, place in tables.get(_table_asked(node, asked) or "", {}).items():
            if place is None:
                found.setdefault(name, None)
            else:
                path = place if place.startswith("aiter.") else f"{module}.{place.lstrip('.')}"
                found[name] = f"{path}.{name}" if gives_attribute else path
    return found


def _compared(node: ast.AST, asked: str) -> Iterator[str]:
    """Constants that the name is compared with by `==` or `in`."""
    if not (isinstance(node, ast.Compare) and _is_name(node.left, asked) and isinstance(node.ops[0], (ast.Eq, ast.In))):
        return
    against = node.comparators[0]
    elements = against.elts if isinstance(against, (ast.Tuple, ast.List, ast.Set)) else [against]
    for element in elements:
        if isinstance(element, ast.Constant) and isinstance(element.value, str):
            yield element.value


def _table_asked(node: ast.AST, asked: str) -> str | None:
    """The name of the table that is asked for the name."""
    table: ast.expr | None = None
    if isinstance(node, ast.Compare) and _is_name(node.left, asked) and isinstance(node.ops[0], ast.In):
        table = node.comparators[0]
    elif isinstance(node, ast.Subscript) and _is_name(node.slice, asked):
        table = node.value
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
        and _is_name(node.args[0], asked)
    ):
        table = node.func.value
    return table.id if isinstance(table, ast.Name) else None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
