"""Calls: of AITER, of Python's own functions that look things up by name, of the file's own functions."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import replace
from typing import TYPE_CHECKING

from aiter_compat.hostscan.dictionaries import Dictionaries, unpack
from aiter_compat.hostscan.literals import last_name, plain_text
from aiter_compat.hostscan.model import HOST, Arguments, Keyword, Target, UseKind
from aiter_compat.hostscan.tables import KEYWORDS
from aiter_compat.hostscan.values import (
    Dictionary,
    Function,
    InstalledVersion,
    Instance,
    Names,
    Parameters,
    Partial,
    Text,
    Values,
    is_mixed,
    merged,
    only_when,
    targets,
    texts,
)

if TYPE_CHECKING:
    from aiter_compat.hostscan.expressions import Expressions

_PASS_THROUGH = frozenset({"set", "frozenset", "list", "tuple", "sorted", "staticmethod", "classmethod", "keys"})
_SIGNATURES = frozenset({"signature", "getfullargspec", "getargspec"})
_DISTRIBUTIONS = ("aiter", "amd-aiter", "amd_aiter")
_VERSION = "aiter.__version__"
_WRAPPERS = frozenset({"compile", "jit", "cache", "lru_cache", "wraps", "unwrap", "disable", "allow_in_graph"})


class KnownCalls:
    """Evaluates calls.

    Args:
        expressions: evaluates everything else.
        dictionaries: knows the methods of dictionaries.
    """

    def __init__(self, expressions: Expressions, dictionaries: Dictionaries) -> None:
        self._of = expressions
        self._special = {
            "getattr": self._getattr,
            "hasattr": self._hasattr,
            "import_module": self._import_module,
            "__import__": self._import_module,
            "importorskip": self._import_module,
            "find_spec": self._find_spec,
            "version": self._version,
            "Version": self._parsed_version,
            "parse": self._parsed_version,
            "dir": self._names,
            "vars": self._names,
            "partial": self._partial,
            "dict": dictionaries.made_by,
            "copy": self._receiver,
            "get": dictionaries.get,
            "update": dictionaries.update,
            "setdefault": dictionaries.setdefault,
        }

    def call(self, node: ast.Call) -> Values:
        """What the call gives. Its uses are noted."""
        name = last_name(node.func)
        special = self._special.get(name)
        if special is not None:
            given = special(node)
            if given is not None:
                return given
        called = self._of.value(node.func)
        arguments = self._arguments(node)
        mixed = is_mixed(called)
        place = self._of.recording.place(node)
        may_be = tuple(replace(target, mixed=target.mixed or mixed) for target in targets(called))
        passed = _written_in(node, arguments) if mixed else arguments
        self._of.recording.record("call", may_be, place, arguments=passed)
        found: list[Values] = []
        for value in called:
            if isinstance(value, Partial):
                joined = _joined(value.arguments, arguments)
                self._of.recording.record("call", value.of, place, arguments=joined)
            elif isinstance(value, Function):
                self._receive(value, node, arguments)
                found.append(self._of.tables.returns(value.name))
            elif isinstance(value, Instance):
                found.append((value,))
            elif isinstance(value, Target) and value.path.startswith(HOST) and "(" not in value.path:
                found.append((Target(f"{value.path}()", value.known, value.when),))
        if name in _SIGNATURES and node.args:
            return tuple(Parameters(target.path) for target in targets(self._of.look(node.args[0])))
        if name in _PASS_THROUGH:
            return self._receiver(node) or () if name == "keys" else self._first(node)
        if name in _WRAPPERS:
            found.append(targets(self._first(node)))
        return merged(*found)

    def _first(self, node: ast.Call) -> Values:
        return self._of.look(node.args[0]) if node.args else ()

    def _receiver(self, node: ast.Call) -> Values | None:
        if not isinstance(node.func, ast.Attribute):
            return None
        return self._of.value(node.func.value)

    def _arguments(self, node: ast.Call) -> Arguments:
        positional: list[str] = []
        starred = False
        for argument in node.args:
            self._of.value(argument)
            if isinstance(argument, ast.Starred):
                starred = True
            else:
                positional.append(plain_text(argument))
        unpacked = Dictionary()
        for keyword in node.keywords:
            values = self._of.value(keyword.value)
            if keyword.arg is None:
                unpack(unpacked, values)
            else:
                place = self._of.recording.place(node, keyword)
                unpacked.keywords.append(Keyword(keyword.arg, place, plain_text(keyword.value)))
        return Arguments(tuple(positional), tuple(dict.fromkeys(unpacked.keywords)), starred, unpacked.open)

    def _receive(self, function: Function, node: ast.Call, arguments: Arguments) -> None:
        """Note what a function of the file is given: symbols of AITER's, dictionaries, names of modules; keywords."""
        tables = self._of.tables
        for position, argument in enumerate(node.args):
            tables.add_received(function, position, _handed_on(self._of.look(argument)))
        for keyword in node.keywords:
            if keyword.arg is not None:
                tables.add_received(function, keyword.arg, _handed_on(self._of.look(keyword.value)))
        if arguments.keywords:
            tables.add_received(function, KEYWORDS, (Dictionary(list(arguments.keywords), open=arguments.open),))

    def _named(self, node: ast.Call) -> tuple[Target, ...]:
        """The attributes that `getattr` and `hasattr` ask for by a literal name."""
        names = [value.value for value in self._of.value(node.args[1]) if isinstance(value, Text)]
        found: list[Target] = []
        for value in self._of.value(node.args[0]):
            for name in names:
                if isinstance(name, str):
                    found += targets(self._of.attribute(value, name))
        return tuple(found)

    def _getattr(self, node: ast.Call) -> Values | None:
        if len(node.args) < 2:
            return None
        found = self._named(node)
        kind: UseKind = "probe" if len(node.args) > 2 else "attribute"
        defaults = [self._of.value(default) for default in node.args[2:]]
        self._of.recording.record(kind, found, self._of.recording.place(node))
        return merged(found, *defaults)

    def _hasattr(self, node: ast.Call) -> Values | None:
        if len(node.args) != 2:
            return None
        self._of.recording.record("probe", self._named(node), self._of.recording.place(node))
        return self._of.flag(node)

    def _modules(self, node: ast.Call) -> list[Target]:
        """The modules of AITER's that `import_module` or `find_spec` names, each when its name was chosen."""
        arguments = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "package")]
        names, *packages = [self._of.value(argument) for argument in arguments] or [()]
        found = []
        for value in names:
            path = value.value if isinstance(value, Text) else None
            if isinstance(path, str) and path.startswith("."):
                path = _resolved(path, texts(packages[0]) if packages else [])
            if isinstance(value, Text) and isinstance(path, str) and path.partition(".")[0] == "aiter":
                found.append(Target(path, path.count(".") + 1, value.when))
        return found

    def _import_module(self, node: ast.Call) -> Values:
        recording, name = self._of.recording, last_name(node.func)
        survives = frozenset({"ImportError"}) if name == "importorskip" else frozenset()
        found = self._modules(node)
        with recording.under(caught=survives):
            for target in found:
                recording.record("import", (replace(target, known=0),), recording.place(node), module=target.path)
        if len(found) == 1:
            recording.attempt(found[0].path)
        if name == "__import__":
            return (Target("aiter", 1),) if found else ()
        return only_when(tuple(found), recording.conditions)

    def _find_spec(self, node: ast.Call) -> Values:
        for target in self._modules(node):
            place = self._of.recording.place(node)
            self._of.recording.record("find_spec", (replace(target, known=0),), place, module=target.path)
        return self._of.flag(node)

    def _version(self, node: ast.Call) -> Values | None:
        names = texts(self._of.look(node.args[0])) if node.args else []
        found = tuple(Target(name) for name in names if name in _DISTRIBUTIONS)
        self._of.recording.record("version", found, self._of.recording.place(node))
        return (InstalledVersion(),) if found else None

    def _parsed_version(self, node: ast.Call) -> Values | None:
        given = self._of.value(node.args[0]) if len(node.args) == 1 else ()
        if any(isinstance(value, InstalledVersion) or value == Target(_VERSION, 1) for value in given):
            return (InstalledVersion(parsed=True),)
        return tuple(value for value in given if isinstance(value, Text)) or None

    def _names(self, node: ast.Call) -> Values | None:
        found = targets(self._of.value(node.args[0])) if len(node.args) == 1 else ()
        return tuple(Names(target.path) for target in found) or None

    def _partial(self, node: ast.Call) -> Values | None:
        if not node.args:
            return None
        of = targets(self._of.value(node.args[0]))
        arguments = self._arguments(ast.Call(node.func, node.args[1:], node.keywords, lineno=node.lineno))
        bound = Arguments((), arguments.keywords, arguments.starred, arguments.open, len(arguments.positional))
        return (Partial(of, bound),) if of else ()


def _resolved(path: str, packages: list[str]) -> str | None:
    """The absolute name of a relative one; None when there is no one package that it starts from."""
    try:
        return importlib.util.resolve_name(path, packages[0]) if len(packages) == 1 else None
    except ImportError:  # more dots than the package has parts
        return None


def _handed_on(values: Values) -> Values:
    return tuple(
        value
        for value in values
        if isinstance(value, (Target, Dictionary))
        or (isinstance(value, Text) and isinstance(value.value, str) and value.value.startswith("aiter."))
    )


def _written_in(node: ast.Call, arguments: Arguments) -> Arguments:
    """The arguments without those from dictionaries, which the host may fill for one platform only."""
    names = {keyword.arg for keyword in node.keywords}
    kept = tuple(keyword for keyword in arguments.keywords if keyword.name in names)
    return replace(arguments, keywords=kept, open=arguments.open or len(kept) < len(arguments.keywords))


def _joined(bound: Arguments, given: Arguments) -> Arguments:
    return Arguments(
        given.positional,
        (*bound.keywords, *given.keywords),
        bound.starred or given.starred,
        bound.open or given.open,
        bound.bound,
    )
