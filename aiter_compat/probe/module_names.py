"""What one module of AITER binds at import, and the short form in which whole-package records hold it.

The short form is a flat mapping, so that a difference between two releases is a set of its keys:

    "fused_topk": "(hidden_states, gating_output, topk, renormalize)"      a function
    "MOEMetadata": "class", "CustomAllreduce": "class(group, device)"      a class; with the parameters of its __init__
    "logger": "variable"
    "QuantType": {"enum": "pybind", "members": {"No": 0}}                  members null when no file states them
    "from aiter.jit.core": "compile_ops, AITER_CSRC_DIR as CSRC"           names imported from a module of AITER
    "import *": ["aiter.ops.enum", "aiter.ops.norm"]                       in the order of the statements
    "__all__": ["flash_attn_func"]
    "__getattr__": {"gemm_a8w8": "aiter.ops.triton.gemm.basic.gemm_a8w8"}  made on first access; null: no path is known
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiter_compat.errors import RecordError
from aiter_compat.probe.model import Symbol
from aiter_compat.probe.parameters import Parameter, to_texts
from aiter_compat.probe.python_source import parameters_of

_FROM = "from "
_STARS = "import *"
_ALL = "__all__"
_LAZY = "__getattr__"
_CLASS = "class"
_VARIABLE = "variable"


@dataclass(frozen=True)
class ModuleNames:
    """The names of one module.

    Attributes:
        name: dotted name of the module.
        symbols: what it defines, by name. A name that is in `imports` too is what stands in when that import fails.
        imports: name -> dotted path of the AITER module or symbol that it was imported from.
        stars: modules whose names are all imported, in order; a later one wins over an earlier one, and the module's
            own names over both.
        exports: `__all__`; None when there is none, or none that can be read.
        lazy: names that its `__getattr__` makes -> dotted path of what it gives, or None when only running it tells.
    """

    name: str
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    exports: tuple[str, ...] | None = None
    lazy: Mapping[str, str | None] = field(default_factory=dict)

    def star_gives(self, name: str) -> bool:
        """Whether `from this import *` would bind `name`, given that the module has it."""
        if self.exports is not None:
            return name in self.exports
        return not name.startswith("_") and name not in self.lazy

    def to_plain(self) -> dict[str, Any]:
        """The short form."""
        plain: dict[str, Any] = {name: _text(symbol) for name, symbol in self.symbols.items()}
        for source, names in _by_module(self.imports).items():
            plain[_FROM + source] = ", ".join(names)
        if self.stars:
            plain[_STARS] = list(self.stars)
        if self.exports is not None:
            plain[_ALL] = list(self.exports)
        if self.lazy:
            plain[_LAZY] = dict(self.lazy)
        return plain

    @classmethod
    def from_plain(cls, name: str, plain: Mapping[str, Any], *, only: str | None = None) -> ModuleNames:
        """The inverse of `to_plain`.

        Args:
            name: dotted name of the module.
            plain: its short form.
            only: the one symbol to decode, since reading signatures is most of the work; None for all.

        Raises:
            RecordError: the values do not have that form.
        """
        symbols: dict[str, Symbol] = {}
        imports: dict[str, str] = {}
        try:
            for key, value in plain.items():
                if key.startswith(_FROM):
                    imports.update(_imported(key[len(_FROM) :], value))
                elif key not in (_STARS, _ALL, _LAZY) and only in (None, key):
                    symbols[key] = _symbol(f"{name}.{key}", value)
            exports = plain.get(_ALL)
            return cls(
                name,
                symbols,
                imports,
                tuple(plain.get(_STARS, ())),
                None if exports is None else tuple(exports),
                dict(plain.get(_LAZY, {})),
            )
        except (AttributeError, KeyError, SyntaxError, TypeError, ValueError) as error:
            raise RecordError(f"{name}: malformed module ({type(error).__name__}: {error}).") from error


def signature_text(parameters: Iterable[Parameter]) -> str:
    """The parameter list as Python writes it, in parentheses."""
    return f"({', '.join(to_texts(parameters))})"


def _text(symbol: Symbol) -> str | dict[str, Any]:
    if symbol.kind == "enum":
        members = None if symbol.members is None else dict(symbol.members)
        return {"enum": symbol.enum_kind, "members": members}
    signature = "" if symbol.parameters is None else signature_text(symbol.parameters)
    return signature if symbol.kind == "function" else symbol.kind + signature


def _symbol(path: str, value: str | Mapping[str, Any]) -> Symbol:
    if not isinstance(value, str):
        return Symbol(path, "enum", members=value["members"], enum_kind=value["enum"])
    if value == _VARIABLE:
        return Symbol(path, "variable")
    if value == _CLASS:
        return Symbol(path, "class")
    if value.startswith(_CLASS + "("):
        return Symbol(path, "class", parameters=_parameters(value[len(_CLASS) :]))
    return Symbol(path, "function", parameters=_parameters(value))


def _parameters(signature: str) -> tuple[Parameter, ...]:
    statement = ast.parse(f"def f{signature}: ...").body[0]
    if not isinstance(statement, ast.FunctionDef):
        raise TypeError(f"{signature!r} is no parameter list")
    return parameters_of(statement.args)


def _by_module(imports: Mapping[str, str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, path in sorted(imports.items()):
        source, _, attribute = path.rpartition(".")
        grouped.setdefault(source, []).append(name if name == attribute else f"{attribute} as {name}")
    return grouped


def _imported(source: str, names: str) -> dict[str, str]:
    imported: dict[str, str] = {}
    for item in names.split(", "):
        attribute, _, name = item.partition(" as ")
        imported[name or attribute] = f"{source}.{attribute}"
    return imported
