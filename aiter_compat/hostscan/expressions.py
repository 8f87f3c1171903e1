"""What expressions stand for; meeting one notes its uses of AITER."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aiter_compat.hostscan.conditions import Conditions, conditions_of
from aiter_compat.hostscan.dictionaries import Dictionaries
from aiter_compat.hostscan.environment import Environment
from aiter_compat.hostscan.known_calls import KnownCalls
from aiter_compat.hostscan.model import HOST, Target
from aiter_compat.hostscan.recording import Recording
from aiter_compat.hostscan.tables import Tables
from aiter_compat.hostscan.values import (
    Dictionary,
    Flag,
    InstalledVersion,
    Instance,
    Parameters,
    Sequence,
    Text,
    Value,
    Values,
    merged,
    only_when,
    targets,
    texts,
)

_MOST_VALUES = 24  # a name that may be more things than this is treated as unknown beyond them


class Expressions:
    """Evaluates expressions in an environment.

    Args:
        recording: where uses are noted.
        tables: what is known of the file as a whole.
        environment: the scope in which evaluation starts.
    """

    def __init__(self, recording: Recording, tables: Tables, environment: Environment) -> None:
        self.recording = recording
        self.tables = tables
        self.environment = environment
        self._dictionaries = Dictionaries(self)
        self._calls = KnownCalls(self, self._dictionaries)
        self._met: dict[int, Values] = {}
        self._methods: dict[type[ast.expr], Callable[[Any], Values] | None] = {}

    def value(self, node: ast.expr | None) -> Values:
        """What the expression may hold. Its uses are noted."""
        if node is None:
            return ()
        kind = type(node)
        if kind not in self._methods:
            self._methods[kind] = getattr(self, f"_{kind.__name__}", None)
        method = self._methods[kind]
        if method is None:
            self._children(node)
            found: Values = ()
        else:
            found = method(node)[:_MOST_VALUES]
        self._met[id(node)] = found
        return found

    def look(self, node: ast.expr | None) -> Values:
        """What the expression holds that was just evaluated; another one is evaluated without noting uses."""
        known = self._met.get(id(node))
        if known is not None or node is None:
            return known or ()
        with self.recording.muted():
            return self.value(node)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            else:
                self._children(child)

    def _Constant(self, node: ast.Constant) -> Values:  # noqa: N802 - named after the class of the node
        return (Text(node.value),) if node.value is None or isinstance(node.value, (str, bool)) else ()

    def _Name(self, node: ast.Name) -> Values:  # noqa: N802
        values = self.environment.lookup(node.id)
        stars = tuple(value for value in targets(values) if value.star)
        if stars:
            self.recording.record("attribute", stars, self.recording.place(node))
        return values

    def _Attribute(self, node: ast.Attribute) -> Values:  # noqa: N802
        names = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        values = self.value(inner)
        for name in reversed(names):
            values = merged(*(self.attribute(value, name) for value in values))
        found = tuple(value for value in targets(values) if value.path.count(".") >= value.known)
        if found and isinstance(node.ctx, ast.Load):
            self.recording.record("attribute", found, self.recording.place(node))
            if len(found) == len(values) == 1 and not found[0].path.startswith(HOST):
                self.recording.attempt(found[0].path, "AttributeError")
        return values

    def attribute(self, value: Value, name: str) -> Values:
        """What the attribute of one value may hold."""
        if isinstance(value, Target):
            return (Target(f"{value.path}.{name}", value.known, value.when, value.star),)
        if isinstance(value, Instance):
            return self.tables.attribute(value.name, name)
        if isinstance(value, InstalledVersion):
            return (value,) if name in ("base_version", "public") else ()
        return (value,) if isinstance(value, Parameters) else ()

    def _Call(self, node: ast.Call) -> Values:  # noqa: N802
        return self._calls.call(node)

    def _Subscript(self, node: ast.Subscript) -> Values:  # noqa: N802
        key = self.value(node.slice)
        found: list[Values] = []
        for value in self.value(node.value):
            if isinstance(value, Sequence):
                found += value.elements
            elif isinstance(value, Dictionary):
                known = [value.values[one.value] for one in key if isinstance(one, Text) and one.value in value.values]
                found += known or list(value.values.values())
            elif isinstance(value, Target):  # an enum is the only thing of AITER's that is asked like this for a name
                members = tuple(replace(value, path=f"{value.path}.{name}") for name in texts(key))
                self.recording.record("attribute", members, self.recording.place(node))
                found.append(members)
        return merged(*found)

    def _IfExp(self, node: ast.IfExp) -> Values:  # noqa: N802
        self.value(node.test)
        when_true, when_false = (self.conditions(node.test, expected=outcome) for outcome in (True, False))
        with self.recording.under(*when_true), self.recording.branch():
            first = only_when(self.value(node.body), self.recording.conditions)
        with self.recording.under(*when_false), self.recording.branch():
            second = only_when(self.value(node.orelse), self.recording.conditions)
        return merged(first, second)

    def _BoolOp(self, node: ast.BoolOp) -> Values:  # noqa: N802
        found: list[Values] = []
        found.append(self.value(node.values[0]))
        with self.recording.under(), self.recording.branch():
            for done, operand in zip(node.values, node.values[1:], strict=False):
                self.recording.conditions += self.conditions(done, expected=isinstance(node.op, ast.And))
                found.append(self.value(operand))
        return merged(self.flag(node), *found)

    def _Compare(self, node: ast.Compare) -> Values:  # noqa: N802
        self._children(node)
        return self.flag(node)

    def _UnaryOp(self, node: ast.UnaryOp) -> Values:  # noqa: N802
        self._children(node)
        return self.flag(node)

    def _BinOp(self, node: ast.BinOp) -> Values:  # noqa: N802
        left, right = self.value(node.left), self.value(node.right)
        return _joined(left, right) if isinstance(node.op, ast.Add) else ()

    def _JoinedStr(self, node: ast.JoinedStr) -> Values:  # noqa: N802
        made: Values = (Text(""),)
        for part in node.values:
            made = _joined(made, self.value(part.value if isinstance(part, ast.FormattedValue) else part))
            if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
                self.value(part.format_spec)
                made = ()
        return made

    def _NamedExpr(self, node: ast.NamedExpr) -> Values:  # noqa: N802
        values = self.value(node.value)
        self.environment.bind(node.target.id, values)
        return values

    def _Dict(self, node: ast.Dict) -> Values:  # noqa: N802
        made = Dictionary()
        for key, item in zip(node.keys, node.values, strict=True):
            self.value(key)
            values = self.value(item)
            self._dictionaries.fill(made, key, item, values)
        return (made,)

    def _Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Values:  # noqa: N802
        return (Sequence(tuple(self.value(element) for element in node.elts)),)

    _List = _Tuple
    _Set = _Tuple

    def _Starred(self, node: ast.Starred) -> Values:  # noqa: N802
        return self.elements(self.value(node.value))

    def _Await(self, node: ast.Await) -> Values:  # noqa: N802
        return self.value(node.value)

    def _Lambda(self, node: ast.Lambda) -> Values:  # noqa: N802
        outer, scope = self.environment, self.recording.scope
        self._children(node.args)
        self.environment = self.tables.scope(outer, node)
        self.recording.scope = "function"
        with self.recording.branch():
            self.value(node.body)
        self.environment, self.recording.scope = outer, scope
        return ()

    def _ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Values:  # noqa: N802
        return (Sequence((self._comprehension(node.generators, [node.elt]),)),)

    _SetComp = _ListComp
    _GeneratorExp = _ListComp

    def _DictComp(self, node: ast.DictComp) -> Values:  # noqa: N802
        self._comprehension(node.generators, [node.key, node.value])
        return (self._dictionaries.filtered(node) or Dictionary(open=True),)

    def _comprehension(self, generators: list[ast.comprehension], elements: list[ast.expr]) -> Values:
        outer = self.environment
        self.environment = Environment(outer)
        with self.recording.under(), self.recording.branch():
            for generator in generators:
                self.assign(generator.target, self.elements(self.value(generator.iter)))
                for test in generator.ifs:
                    self.value(test)
                    self.recording.conditions += self.conditions(test, expected=True)
            values = [self.value(element) for element in elements]
        self.environment = outer
        return values[0]

    def elements(self, values: Values) -> Values:
        """What iterating over these values gives."""
        found: list[Values] = []
        for value in values:
            if isinstance(value, Sequence):
                found += value.elements
            elif isinstance(value, Dictionary):
                found.append(tuple(Text(key) for key in value.values))
        return merged(*found)

    def assign(self, target: ast.expr, values: Values, item: ast.expr | None = None) -> None:
        """Bind what an assignment, loop or comprehension binds; `item` is the expression that is assigned."""
        if isinstance(target, ast.Name):
            self.bind(target.id, values)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = [value.elements for value in values if isinstance(value, Sequence)]
            for position, element in enumerate(target.elts):
                self.assign(element, merged(*(part[position] for part in parts if position < len(part))))
        elif isinstance(target, ast.Starred):
            self.assign(target.value, ())
        elif isinstance(target, ast.Attribute):
            for value in self.value(target.value):
                if isinstance(value, Instance):
                    self.tables.add_attribute(value.name, target.attr, values)
        elif isinstance(target, ast.Subscript):
            self._dictionaries.set_item(target, item or target, values)

    def unpack_into(self, target: ast.expr, values: Values) -> None:
        """`mapping |= {...}`."""
        self._dictionaries.unpack_into(self.look(target), values)

    def bind(self, name: str, values: Values) -> None:
        """Bind a name in the current scope, or in the module where it is declared global."""
        if name in self.environment.declared:
            self.tables.add_global(name, values)
        self.environment.bind(name, only_when(values, self.recording.conditions))

    def flag(self, test: ast.expr) -> Values:
        """The test as a value, when it asks what AITER has."""
        true = self.conditions(test, expected=True)
        if not true:
            return ()
        return (Flag(true, self.conditions(test, expected=False)),)

    def conditions(self, test: ast.expr, *, expected: bool) -> Conditions:
        """What must hold for the test to come out as `expected`, as far as it asks what AITER has."""
        return conditions_of(self, test, expected=expected)


def _joined(left: Values, right: Values) -> Values:
    """Every text of the left followed by every one of the right."""
    return tuple(
        Text(f"{one.value}{other.value}", one.when + other.when)
        for one in left
        for other in right
        if isinstance(one, Text)
        and isinstance(other, Text)
        and isinstance(one.value, str)
        and isinstance(other.value, str)
    )[:_MOST_VALUES]
