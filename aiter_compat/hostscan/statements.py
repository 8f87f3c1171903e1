"""Walks over the statements of a file, in the order in which they run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from aiter_compat.hostscan.attempts import OTHER, catches, failed, needed_of
from aiter_compat.hostscan.conditions import Conditions
from aiter_compat.hostscan.environment import Environment
from aiter_compat.hostscan.expressions import Expressions
from aiter_compat.hostscan.imports import Imports
from aiter_compat.hostscan.literals import caught_by, exception_names, last_name, leaves
from aiter_compat.hostscan.model import HOST, PROBE, Condition, Requirement, Target
from aiter_compat.hostscan.recording import FunctionNotes
from aiter_compat.hostscan.tables import KEYWORDS
from aiter_compat.hostscan.values import (
    Dictionary,
    Flag,
    Function,
    Instance,
    Other,
    Text,
    Values,
    merged,
    only_when,
    targets,
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_TRUTHS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.Call)


class Statements:
    """Executes statements abstractly.

    Args:
        expressions: evaluates expressions, and holds the environment.
        imports: knows where the file's imports lead.
    """

    def __init__(self, expressions: Expressions, imports: Imports) -> None:
        self._of = expressions
        self._imports = imports
        self._recording = expressions.recording
        self._tables = expressions.tables
        self._waiting: list[Callable[[], None]] = []
        self._owners: list[str] = []
        self._names: list[str] = []
        self._implications: dict[str, Conditions] = {}

    def module(self, body: list[ast.stmt]) -> None:
        """The whole file: its own statements, then the bodies of its functions."""
        self.block(body)
        module = self._of.environment.module()
        for name, values in self._tables.globals().items():
            module.bind(name, merged(module.names.get(name, ()), values))
        while self._waiting:
            self._waiting.pop(0)()

    def block(self, body: Iterable[ast.stmt]) -> None:
        """Statements one after the other; a test that leaves the block guards the rest of it."""
        saved = self._recording.conditions
        for statement in body:
            self._recording.conditions += self.statement(statement)
        self._recording.conditions = saved

    def statement(self, node: ast.stmt) -> Conditions:
        """One statement. Returns what holds for the statements after it."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._of.value(child)
            return ()
        return tuple(method(node) or ())

    # Bindings

    def _Import(self, node: ast.Import) -> None:  # noqa: N802 - named after the class of the node
        for alias in node.names:
            path = self._imports.absolute(alias.name)
            if path is None:
                self._recording.attempt(OTHER)
                self._of.bind(alias.asname or alias.name.partition(".")[0], (Other(),))
                continue
            if path.startswith(HOST):
                self._recording.attempt(OTHER)
            else:
                place = self._recording.place(node, alias)
                self._recording.record("import", (Target(path),), place, module=path)
                self._recording.attempt(path)
            if alias.asname is not None:
                self._of.bind(alias.asname, (Target(path, path.count(".") + 1),))
            else:
                self._of.bind(alias.name.partition(".")[0], (Target(path.partition(".")[0], 1),))

    def _ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: N802
        module = self._imports.source(node)
        for alias in node.names:
            if module is None:
                self._recording.attempt(OTHER)
                self._of.bind(alias.asname or alias.name, (Other(),))
                continue
            path = module if alias.name == "*" else f"{module}.{alias.name}"
            if module.startswith(HOST):
                self._recording.attempt(OTHER)
            else:
                place = self._recording.place(node, alias)
                self._recording.record("import", (Target(path),), place, module=module)
                self._recording.attempt(path)
            if alias.name == "*":
                self._of.environment.stars.append(Target(module, 0, self._recording.conditions))
            else:
                self._of.bind(alias.asname or alias.name, (Target(path, path.count(".") + 1),))

    def _Assign(self, node: ast.Assign) -> Conditions:  # noqa: N802
        values = self._assigned(node.value)
        for target in node.targets:
            self._of.assign(target, values, node.value)
            self._attribute_of_class(target, values)
        return _imported_or_skipped(node.value, values)

    def _Expr(self, node: ast.Expr) -> Conditions:  # noqa: N802
        return _imported_or_skipped(node.value, self._of.value(node.value))

    def _Assert(self, node: ast.Assert) -> Conditions:  # noqa: N802
        self._of.value(node.test)
        self._of.value(node.msg)
        return self._of.conditions(node.test, expected=True)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        self._of.value(node.annotation)
        if node.value is not None:
            values = self._assigned(node.value)
            self._of.assign(node.target, values, node.value)
            self._attribute_of_class(node.target, values)

    def _AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        values = self._of.value(node.value)
        if isinstance(node.op, ast.BitOr):
            self._of.unpack_into(node.target, values)

    def _assigned(self, node: ast.expr) -> Values:
        values = self._of.value(node)
        return merged(self._of.flag(node), values)

    def _attribute_of_class(self, target: ast.expr, values: Values) -> None:
        if self._owners and not self._of.environment.visible and isinstance(target, ast.Name):
            self._tables.add_attribute(self._owners[-1], target.id, values)

    def _Return(self, node: ast.Return) -> None:  # noqa: N802
        values = self._of.value(node.value)
        notes = self._recording.notes
        notes.returns = merged(notes.returns, targets(values))
        if node.value is not None:
            notes.answers = notes.answers and _may_be_truth(node.value)
            self._recording.looks_for(self._of.conditions(node.value, expected=True))

    # Branches

    def _If(self, node: ast.If) -> Conditions:  # noqa: N802
        self._of.value(node.test)
        when_true, when_false = (self._of.conditions(node.test, expected=outcome) for outcome in (True, False))
        when_true += self._implied_by(node.test)
        self._recording.looks_for(when_true)
        before = self._of.environment.save()
        with self._recording.under(*when_true), self._recording.branch():
            self.block(node.body)
        after_true = self._of.environment.save()
        self._of.environment.names = before
        with self._recording.under(*when_false), self._recording.branch():
            self.block(node.orelse)
        after_false = self._of.environment.save()
        true_leaves, false_leaves = leaves(node.body), leaves(node.orelse)
        if true_leaves:
            self._imply(node.test)
        if true_leaves == false_leaves:
            self._of.environment.join([after_true, after_false])
            return ()
        self._of.environment.names = after_false if true_leaves else after_true
        return when_false if true_leaves else when_true

    def _imply(self, test: ast.expr) -> None:
        """After `if wanted and not has(): raise`, whatever stands under `if wanted:` has it."""
        if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and len(test.values) == 2):
            return
        for wanted, asked in (test.values, test.values[::-1]):
            conditions = self._of.conditions(asked, expected=False)
            if conditions and all(map(_is_of_the_host, self._of.conditions(wanted, expected=True))):
                self._implications[ast.dump(wanted)] = conditions

    def _implied_by(self, test: ast.expr) -> Conditions:
        if not self._implications:
            return ()
        operands = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        return tuple(one for operand in operands for one in self._implications.get(ast.dump(operand), ()))

    def _Try(self, node: ast.Try) -> Conditions:  # noqa: N802
        caught = caught_by(node.handlers)
        before = self._of.environment.save()
        self._recording.attempts.append([])
        with self._recording.under(caught=caught):
            self.block(node.body)
        attempts = list(dict.fromkeys(self._recording.attempts.pop()))
        for one in attempts:
            if not catches(caught, one.error):
                self._recording.attempt(*one)
        survived = needed_of(attempts, caught)
        self._recording.looks_for((Condition(survived),))
        needed = needed_of(attempts, {name for handler in node.handlers for name in exception_names(handler.type)})
        succeeded = (Condition(needed),) if needed else ()
        with self._recording.under(*succeeded):
            self.block(node.orelse)
        after = self._of.environment.save()
        left = leaves([*node.body, *node.orelse]) if node.orelse else leaves(node.body)
        others: list[dict[str, Values]] = []
        for handler in node.handlers:
            self._of.environment.names = dict(before)
            with self._recording.under(*failed(node, handler, attempts)), self._recording.branch():
                self.block(handler.body)
            if not leaves(handler.body):
                others.append(self._of.environment.save())
        for name, values in after.items():
            # A name that a handler leaves unbound is used as if nothing had failed: the host does not survive that.
            if values is not before.get(name) and any(name in other for other in others):
                after[name] = only_when(values, succeeded)
        self._of.environment.join(others if left and others else [after, *others])
        if needed and others and not left:
            self._flags(after, others, needed=Condition(needed))
        self.block(node.finalbody)
        return succeeded if not others and not left else ()

    _TryStar = _Try

    def _flags(self, after: dict[str, Values], others: list[dict[str, Values]], needed: Condition) -> None:
        """Names that are True after the body and False after a handler tell whether the imports worked."""
        for name, values in after.items():
            elsewhere = merged(*(other.get(name, ()) for other in others))
            if _are(values, True) and _are(elsewhere, False, None):
                flag = Flag((needed,), (Condition(needed.requirements, expected=False),))
                self._of.environment.bind(name, (flag,))

    def _For(self, node: ast.For | ast.AsyncFor) -> None:  # noqa: N802
        self._of.assign(node.target, self._of.elements(self._of.value(node.iter)))
        before = self._of.environment.save()
        with self._recording.branch():
            self.block(node.body)
        self._of.environment.join([before, self._of.environment.save()])
        self.block(node.orelse)

    _AsyncFor = _For

    def _While(self, node: ast.While) -> None:  # noqa: N802
        self._of.value(node.test)
        before = self._of.environment.save()
        with self._recording.under(*self._of.conditions(node.test, expected=True)), self._recording.branch():
            self.block(node.body)
        self._of.environment.join([before, self._of.environment.save()])
        self.block(node.orelse)

    def _With(self, node: ast.With | ast.AsyncWith) -> None:  # noqa: N802
        caught: set[str] = set()
        for item in node.items:
            values = self._of.value(item.context_expr)
            if item.optional_vars is not None:
                self._of.assign(item.optional_vars, values)
            if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "suppress":
                for argument in item.context_expr.args:
                    caught |= exception_names(argument)
        with self._recording.under(caught=frozenset(caught)):
            self.block(node.body)

    _AsyncWith = _With

    def _Match(self, node: ast.Match) -> None:  # noqa: N802
        self._of.value(node.subject)
        before = self._of.environment.save()
        ends = [before]
        for case in node.cases:
            self._of.environment.names = dict(before)
            for inner in ast.walk(case.pattern):
                if isinstance(inner, ast.MatchValue):
                    self._of.value(inner.value)
            self._of.value(case.guard)
            with self._recording.branch():
                self.block(case.body)
            ends.append(self._of.environment.save())
        self._of.environment.join(ends)

    # Scopes

    def _FunctionDef(self, node: FunctionNode) -> None:  # noqa: N802
        for decorator in node.decorator_list:
            self._of.value(decorator)
        arguments = node.args
        annotations = [
            argument.annotation for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        ]
        for expression in [*annotations, node.returns]:
            self._of.value(expression)
        name = ".".join([*self._names, node.name])
        given = _defaults(arguments, self._of)
        self._of.environment.bind(node.name, (Function(name),))
        owner = self._owners[-1] if self._owners and not self._of.environment.visible else ""
        if owner:
            self._tables.add_attribute(owner, node.name, (Function(name),))
        outer = self._of.environment
        kept = self._recording.conditions
        self._waiting.append(lambda: self._body(node, name, outer, owner, kept, given))

    _AsyncFunctionDef = _FunctionDef

    def _body(
        self,
        node: FunctionNode,
        name: str,
        outer: Environment,
        owner: str,
        conditions: Conditions,
        given: dict[str, Values],
    ) -> None:
        recording = self._recording
        self._of.environment = self._tables.scope(outer, node)
        self._of.environment.names.update({key: values for key, values in given.items() if values})
        parameters = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
        shift = 1 if owner and not any(last_name(one) == "staticmethod" for one in node.decorator_list) else 0
        for position, parameter in enumerate(parameters):
            received = merged(self._tables.received(name, position - shift), self._tables.received(name, parameter))
            self._of.environment.names[parameter] = merged(given.get(parameter, ()), received)
        if node.args.kwarg is not None:
            self._of.environment.names[node.args.kwarg.arg] = (self._keywords_of(name, node),)
        if shift and parameters:
            self._of.environment.names[parameters[0]] = (Instance(owner),)
        recording.scope, recording.conditions, recording.caught = "function", conditions, frozenset()
        recording.attempts, recording.notes = [], FunctionNotes()
        self._implications = {}
        names, owners = self._names, self._owners
        self._names, self._owners = [*name.split("."), "<locals>"], []
        self.block(node.body)
        self._names, self._owners = names, owners
        notes = recording.notes
        self._tables.add_returns(name, notes.returns)
        if notes.answers and notes.looks_for:
            self._tables.add_probe(node.name, tuple(notes.looks_for))
        self._of.environment = outer.module()
        recording.scope, recording.conditions = "module", ()

    def _keywords_of(self, name: str, node: FunctionNode) -> Dictionary:
        """What `**keywords` of a function holds: all that calls in the file pass and no parameter of its takes."""
        taken = {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
        given = [one for one in self._tables.received(name, KEYWORDS) if isinstance(one, Dictionary)]
        keywords = [keyword for one in given for keyword in one.keywords if keyword.name not in taken]
        return Dictionary(list(dict.fromkeys(keywords)), open=True)

    def _ClassDef(self, node: ast.ClassDef) -> None:  # noqa: N802
        for expression in [*node.decorator_list, *(keyword.value for keyword in node.keywords)]:
            self._of.value(expression)
        self._tables.add_bases(node.name, merged(*(self._of.value(base) for base in node.bases)))
        outer = self._of.environment
        self._of.environment = Environment(outer, visible=False)
        self._owners.append(node.name)
        self._names.append(node.name)
        self.block(node.body)
        self._names.pop()
        self._owners.pop()
        self._of.environment = outer
        self._of.environment.bind(node.name, (Instance(node.name),))


def _defaults(arguments: ast.arguments, expressions: Expressions) -> dict[str, Values]:
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
    pairs += [
        (argument, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    return {argument.arg: targets(expressions.value(default)) for argument, default in pairs}


def _imported_or_skipped(node: ast.expr, values: Values) -> Conditions:
    """What holds after `pytest.importorskip(…)`, which leaves when there is no such module."""
    if not (isinstance(node, ast.Call) and last_name(node.func) == "importorskip"):
        return ()
    return tuple(Condition((Requirement(target.path),)) for target in targets(values))


def _is_of_the_host(condition: Condition) -> bool:
    return all(one.path.startswith((HOST, PROBE)) for one in condition.requirements) and bool(condition.requirements)


def _are(values: Values, *literals: bool | None) -> bool:
    return bool(values) and all(isinstance(value, Text) and value.value in literals for value in values)


def _may_be_truth(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool)
    return isinstance(node, _TRUTHS)
