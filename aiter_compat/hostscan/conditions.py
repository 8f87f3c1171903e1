"""What a test asks AITER for.

`conditions_of` turns the test of an `if`, a `while`, a conditional expression or an `assert` into the conditions that
hold once it came out one way. A test that asks nothing of AITER gives none.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from aiter_compat.hostscan.literals import asks_for_version, dotted, last_name
from aiter_compat.hostscan.model import HOST, PROBE, UNDECIDABLE, Condition, Requirement, Target
from aiter_compat.hostscan.values import (
    Flag,
    Function,
    InstalledVersion,
    Names,
    Parameters,
    Text,
    Values,
    targets,
    texts,
)

if TYPE_CHECKING:
    from aiter_compat.hostscan.expressions import Expressions

Conditions = tuple[Condition, ...]
_TRUTH = ("bool", "callable")
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.Lt: "<",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_TURNED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


def conditions_of(expressions: Expressions, test: ast.expr, *, expected: bool) -> Conditions:
    """Conditions under which `test` comes out as `expected`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return conditions_of(expressions, test.operand, expected=not expected)
    if isinstance(test, ast.BoolOp):
        return _operands(expressions, test, expected=expected)
    if isinstance(test, ast.NamedExpr):
        return conditions_of(expressions, test.value, expected=expected)
    if isinstance(test, ast.Compare):
        return _comparison(expressions, test, expected=expected)
    if isinstance(test, ast.Call):
        return _call(expressions, test, expected=expected)
    if isinstance(test, (ast.Name, ast.Attribute)):
        if dotted(test).rpartition(".")[2] == "TYPE_CHECKING":
            return (UNDECIDABLE,) if expected else ()
        return _value(expressions.look(test), expected=expected)
    return ()


def _operands(expressions: Expressions, test: ast.BoolOp, *, expected: bool) -> Conditions:
    each = [conditions_of(expressions, operand, expected=expected) for operand in test.values]
    if expected is isinstance(test.op, ast.And):  # all operands came out so
        return tuple(condition for conditions in each for condition in conditions)
    if any(len(conditions) != 1 for conditions in each):
        return ()  # one of them did, but not all are about AITER
    return _one_of([condition for (condition,) in each])


def _one_of(alternatives: list[Condition]) -> Conditions:
    """That one of several conditions holds, as far as a single condition can say it."""
    requirements = tuple(requirement for condition in alternatives for requirement in condition.requirements)
    if not all(condition.requirements for condition in alternatives):
        hosts = any(requirement.path.startswith((HOST, PROBE)) for requirement in requirements)
        return () if hosts else (UNDECIDABLE,)
    if not any(condition.expected for condition in alternatives):
        return (Condition(requirements, expected=False),)
    if all(condition.expected and len(condition.requirements) == 1 for condition in alternatives):
        return (Condition(requirements, some=True),)
    return ()


def _comparison(expressions: Expressions, test: ast.Compare, *, expected: bool) -> Conditions:
    operator, right = test.ops[0], test.comparators[0]
    negative = isinstance(operator, (ast.IsNot, ast.NotEq, ast.NotIn))
    if isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) and isinstance(right, ast.Constant):
        if right.value is None or right.value is False:
            return conditions_of(expressions, test.left, expected=expected is negative)
        if right.value is True:
            return conditions_of(expressions, test.left, expected=expected is not negative)
    if isinstance(operator, (ast.In, ast.NotIn)):
        asked = _membership(expressions, test.left, right)
        if asked is not None:
            return (Condition(asked, expected is not negative),) if asked else (UNDECIDABLE,)
    version = _version(expressions, test)
    if version is not None:
        return (Condition((Requirement("aiter", version=version),), expected),)
    return (UNDECIDABLE,) if _asks_for_version(expressions, test) else ()


def _asks_for_version(expressions: Expressions, test: ast.Compare | ast.Call) -> bool:
    known = expressions.tables.version_tests.get(id(test))
    if known is None:
        known = expressions.tables.version_tests[id(test)] = asks_for_version(test)
    return known


def _version(expressions: Expressions, test: ast.Compare) -> tuple[str, str] | None:
    """The comparison of the installed version with a literal one, written with the installed one on the left."""
    symbol = _COMPARED.get(type(test.ops[0]))
    if symbol is None or len(test.ops) > 1:
        return None
    for one, other, written in (
        (test.left, test.comparators[0], symbol),
        (test.comparators[0], test.left, _TURNED.get(symbol, symbol)),
    ):
        if InstalledVersion(parsed=True) in expressions.look(one):
            numbers = [text for text in texts(expressions.look(other)) if _is_version(text)]
            return (written, numbers[0]) if len(numbers) == 1 else None
    return None


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _membership(expressions: Expressions, left: ast.expr, right: ast.expr) -> tuple[Requirement, ...] | None:
    """What `left in right` asks for; None when `right` is neither the parameters nor the names of something."""
    held = [value for value in expressions.look(right) if isinstance(value, (Parameters, Names))]
    if not held:
        return None
    names = texts(expressions.look(left))
    if isinstance(held[0], Names):
        return tuple(Requirement(f"{held[0].path}.{name}") for name in names)
    return tuple(Requirement(held[0].path, name) for name in names)


def _call(expressions: Expressions, test: ast.Call, *, expected: bool) -> Conditions:
    name = last_name(test.func)
    if name in _TRUTH and len(test.args) == 1:
        return conditions_of(expressions, test.args[0], expected=expected)
    if name == "all" and test.args and isinstance(test.args[0], ast.GeneratorExp):
        return _all_of(expressions, test.args[0], expected=expected)
    if name in ("hasattr", "getattr", "find_spec"):
        asked = _asked(expressions, test, name)
        return (Condition((Requirement(asked[0]),), expected),) if len(asked) == 1 else ()
    if name == "issubset" and isinstance(test.func, ast.Attribute) and test.args:
        paths = [value.path for value in expressions.look(test.args[0]) if isinstance(value, Parameters)]
        names = texts(expressions.elements(expressions.look(test.func.value)))
        return (Condition(tuple(Requirement(paths[0], name) for name in names), expected),) if paths and names else ()
    if _asks_for_version(expressions, test):
        return (UNDECIDABLE,)
    values = expressions.look(test)
    if any(isinstance(value, Flag) for value in values):
        return _value(values, expected=expected)
    functions = [value.name for value in expressions.look(test.func) if isinstance(value, Function)]
    found = expressions.tables.probe(functions[0].rpartition(".")[2]) if functions else ()
    if found:
        return (Condition(found, expected),)
    return (Condition((Requirement(PROBE + name),), expected),) if name else ()


def _asked(expressions: Expressions, test: ast.Call, function: str) -> list[str]:
    """The paths that `hasattr`, `getattr` or `find_spec` looks for."""
    if function == "find_spec":
        paths = texts(expressions.look(test.args[0]) if test.args else ())
        return [path for path in paths if path.partition(".")[0] == "aiter"]
    if len(test.args) < 2:
        return []
    owners, names = targets(expressions.look(test.args[0])), texts(expressions.look(test.args[1]))
    return [f"{owner.path}.{name}" for owner in owners for name in names]


def _all_of(expressions: Expressions, generator: ast.GeneratorExp, *, expected: bool) -> Conditions:
    """`all(name in parameters for name in ("a", "b"))`."""
    test, loop = generator.elt, generator.generators[0]
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In) and isinstance(loop.target, ast.Name)):
        return ()
    paths = [value.path for value in expressions.look(test.comparators[0]) if isinstance(value, Parameters)]
    names = texts(expressions.elements(expressions.look(loop.iter)))
    if not paths or not names or dotted(test.left) != loop.target.id:
        return ()
    return (Condition(tuple(Requirement(paths[0], name) for name in names), expected),)


def _value(values: Values, *, expected: bool) -> Conditions:
    """Conditions under which something that holds these values is true, or is not."""
    flags = [value for value in values if isinstance(value, Flag)]
    if flags:
        return flags[0].true if expected else flags[0].false
    found = [value for value in values if not isinstance(value, Text)]
    if len(found) != 1 or not isinstance(found[0], Target):
        return ()
    path = found[0].path
    # What is there may be false for reasons of its own (a variable), unless its absence has a value: None, False.
    absent = expected or path.startswith(HOST) or len(found) < len(values)
    return (Condition((Requirement(path),), expected),) if absent else ()
