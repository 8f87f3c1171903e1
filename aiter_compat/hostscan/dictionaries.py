"""Dictionaries of a host: what fills them, and with which keywords a call may unpack them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from aiter_compat.hostscan.literals import dotted, plain_text
from aiter_compat.hostscan.model import Condition, Keyword, Requirement
from aiter_compat.hostscan.values import Dictionary, Parameters, Text, Values, merged

if TYPE_CHECKING:
    from aiter_compat.hostscan.expressions import Expressions


class Dictionaries:
    """Evaluates what makes, fills and reads dictionaries.

    Args:
        expressions: evaluates everything else.
    """

    def __init__(self, expressions: Expressions) -> None:
        self._of = expressions

    def fill(self, made: Dictionary, key: ast.expr | None, item: ast.expr, values: Values) -> None:
        """Put one entry into a dictionary, or all of another one (`key` None)."""
        if key is None:
            unpack(made, values)
            return
        names = [value.value for value in self._of.look(key) if isinstance(value, Text)]
        if not names:
            made.open = True
        for name in names:
            if isinstance(name, str):
                made.keywords.append(Keyword(name, self._of.recording.place(key), plain_text(item)))
                made.values[name] = merged(made.values.get(name, ()), values)

    def set_item(self, target: ast.Subscript, item: ast.expr, values: Values) -> None:
        """`mapping[key] = item`."""
        for value in self._of.value(target.value):
            if isinstance(value, Dictionary):
                self.fill(value, target.slice, item, values)

    def filtered(self, node: ast.DictComp) -> Dictionary | None:
        """`{name: value for name, value in mapping.items() if name in parameters}`; None for any other one."""
        loop, items = node.generators[0], node.generators[0].iter
        named = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
        if len(node.generators) > 1 or named is None or dotted(node.key) != dotted(named):
            return None
        if not (isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute) and items.func.attr == "items"):
            return None
        held = [value for value in self._of.look(items.func.value) if isinstance(value, Dictionary)]
        tests = [test for test in loop.ifs if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In)]
        asked = [
            value.path
            for test in tests
            if dotted(test.left) == dotted(named)
            for value in self._of.look(test.comparators[0])
            if isinstance(value, Parameters)
        ]
        made = Dictionary(open=not held)
        for mapping in held:
            unpack(made, (mapping,))
        made.keywords = [_asked_for(keyword, asked) for keyword in made.keywords]
        return made

    def unpack_into(self, held: Values, values: Values) -> None:
        """Put all entries of one mapping into another."""
        for mapping in held:
            if isinstance(mapping, Dictionary) and values:
                unpack(mapping, values)

    def made_by(self, node: ast.Call) -> Values | None:
        """`dict(…)`; None when that is a method of something."""
        if not isinstance(node.func, ast.Name):
            return None
        made = Dictionary()
        for argument in node.args:
            unpack(made, self._of.value(argument))
        self._keywords_into(made, node)
        return (made,)

    def _keywords_into(self, made: Dictionary, node: ast.Call) -> None:
        for keyword in node.keywords:
            values = self._of.value(keyword.value)
            if keyword.arg is None:
                unpack(made, values)
            else:
                place = self._of.recording.place(node, keyword)
                made.keywords.append(Keyword(keyword.arg, place, plain_text(keyword.value)))
                made.values[keyword.arg] = merged(made.values.get(keyword.arg, ()), values)

    def _mappings(self, node: ast.Call) -> list[Dictionary] | None:
        if not isinstance(node.func, ast.Attribute):
            return None
        held = [value for value in self._of.value(node.func.value) if isinstance(value, Dictionary)]
        return held or None

    def get(self, node: ast.Call) -> Values | None:
        """`mapping.get(key, default)`; None when it is not called on a dictionary, as for the methods below."""
        held = self._mappings(node)
        if held is None or not node.args:
            return None
        keys = [value.value for value in self._of.value(node.args[0]) if isinstance(value, Text)]
        for argument in node.args[1:]:
            self._of.value(argument)
        found: list[Values] = []
        for mapping in held:
            known = [mapping.values[key] for key in keys if isinstance(key, str) and key in mapping.values]
            found += known or ([] if keys else list(mapping.values.values()))
        return merged(*found)

    def update(self, node: ast.Call) -> Values | None:
        """`mapping.update(…)`."""
        held = self._mappings(node)
        if held is None:
            return None
        for mapping in held:
            for argument in node.args:
                unpack(mapping, self._of.value(argument))
            self._keywords_into(mapping, node)
        return ()

    def setdefault(self, node: ast.Call) -> Values | None:
        """`mapping.setdefault(key, item)`."""
        held = self._mappings(node)
        if held is None or len(node.args) != 2:
            return None
        values = self._of.value(node.args[1])
        for mapping in held:
            self.fill(mapping, node.args[0], node.args[1], values)
        return values


def unpack(into: Dictionary, values: Values) -> None:
    """Put what `**values` holds into a dictionary; anything may be in there when it is no known dictionary."""
    dictionaries = [value for value in values if isinstance(value, Dictionary)]
    into.open = into.open or not dictionaries
    for dictionary in dictionaries:
        into.open = into.open or dictionary.open
        into.keywords += dictionary.keywords
        for name, held in dictionary.values.items():
            into.values[name] = merged(into.values.get(name, ()), held)


def _asked_for(keyword: Keyword, functions: list[str]) -> Keyword:
    """The keyword, where these functions take it."""
    asked = tuple(Condition((Requirement(path, keyword.name),)) for path in functions)
    return replace(keyword, place=replace(keyword.place, conditions=(*keyword.place.conditions, *asked)))
