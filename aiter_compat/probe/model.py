"""What an installation or a release exposes, as values that survive a trip through JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, cast

from aiter_compat.errors import RecordError
from aiter_compat.probe.parameters import Parameter, from_texts, to_texts

SymbolKind = Literal["module", "function", "class", "enum", "variable"]
EnumKind = Literal["pybind", "str", "plain", "int"]


@dataclass(frozen=True)
class Symbol:
    """One function, class, enum or variable, defined (not merely imported) in the module that its path names; a module.

    Attributes:
        path: dotted path, such as `aiter.fused_moe.fused_moe`.
        kind: "module", "function", "class", "enum" or "variable".
        parameters: of a function, in order; in a whole-package record also of a class, those of its own `__init__`
            without the first; else None.
        members: names and values of an enum in the order of their definition; None for anything else, and for an
            enum whose members no file states (AITER's own live in a compiled module).
        enum_kind: "pybind" (compiled, compares unequal to ints), "str" (`class X(str, Enum)`), "int" (IntEnum),
            "plain" (Enum, or a class holding int attributes); None for anything that is no enum.
    """

    path: str
    kind: SymbolKind
    parameters: tuple[Parameter, ...] | None = None
    members: Mapping[str, int | str] | None = None
    enum_kind: EnumKind | None = None

    def __post_init__(self) -> None:
        if self.members is not None:
            object.__setattr__(self, "members", MappingProxyType(dict(self.members)))

    def __hash__(self) -> int:
        return hash((self.path, self.kind, self.parameters))

    def __reduce__(self) -> tuple[object, ...]:
        members = None if self.members is None else dict(self.members)  # a mapping proxy cannot be pickled
        return type(self), (self.path, self.kind, self.parameters, members, self.enum_kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values without the path and without what is None."""
        plain: dict[str, Any] = {"kind": self.kind}
        if self.parameters is not None:
            plain["parameters"] = to_texts(self.parameters)
        if self.members is not None:
            plain["members"] = dict(self.members)
        if self.enum_kind is not None:
            plain["enum_kind"] = self.enum_kind
        return plain

    @classmethod
    def from_dict(cls, path: str, plain: Mapping[str, Any]) -> Symbol:
        """The inverse of `to_dict`.

        Raises:
            RecordError: the values do not have that form.
        """
        try:
            texts = plain.get("parameters")
            members = plain.get("members")
            return cls(
                path=path,
                kind=cast(SymbolKind, plain["kind"]),
                parameters=None if texts is None else from_texts(texts),
                members=None if members is None else dict(members),
                enum_kind=cast("EnumKind | None", plain.get("enum_kind")),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RecordError(f"{path}: malformed symbol ({type(error).__name__}: {error}).") from error


@dataclass(frozen=True)
class Surface:
    """The modules, symbols, signatures and enum members that an installation or a release exposes.

    A symbol is listed under the module that defines it; a name that a module merely imports is not listed there.

    Attributes:
        origin: where it was read: a location, or the tag of a recorded release.
        symbols: by dotted path.
        notes: one sentence for each file that was expected and could not be read or parsed.
    """

    origin: str
    symbols: Mapping[str, Symbol]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", MappingProxyType(dict(self.symbols)))

    def __hash__(self) -> int:
        return hash((self.origin, len(self.symbols), self.notes))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.origin, dict(self.symbols), self.notes)

    def has(self, path: str) -> bool:
        """Whether the symbol is defined at this path."""
        return path in self.symbols

    def parameters(self, path: str) -> tuple[Parameter, ...] | None:
        """Parameters of the function at `path`; None when there is no such function."""
        symbol = self.symbols.get(path)
        return None if symbol is None else symbol.parameters

    def parameter(self, path: str, name: str) -> Parameter | None:
        """The parameter of that name of the function at `path`, or None."""
        for parameter in self.parameters(path) or ():
            if parameter.name == name:
                return parameter
        return None

    def members(self, path: str) -> Mapping[str, int | str] | None:
        """Members of the enum at `path`; None when there is no such enum or no file states them."""
        symbol = self.symbols.get(path)
        return None if symbol is None else symbol.members

    def first(self, paths: Iterable[str]) -> str | None:
        """The first of these paths that is defined, or None."""
        return next((path for path in paths if path in self.symbols), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain: dict[str, Any] = {
            "origin": self.origin,
            "symbols": {path: symbol.to_dict() for path, symbol in sorted(self.symbols.items())},
        }
        if self.notes:
            plain["notes"] = list(self.notes)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Surface:
        """The inverse of `to_dict`.

        Raises:
            RecordError: the values do not have that form.
        """
        try:
            origin, rows, notes = plain["origin"], plain["symbols"].items(), tuple(plain.get("notes", ()))
        except (AttributeError, KeyError, TypeError) as error:
            raise RecordError(f"malformed surface ({type(error).__name__}: {error}).") from error
        return cls(origin, {path: Symbol.from_dict(path, row) for path, row in rows}, notes)
