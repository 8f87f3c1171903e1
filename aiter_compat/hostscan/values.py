"""What an expression of a host may hold, as far as it matters for its use of AITER."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from aiter_compat.hostscan.model import HOST, Arguments, Condition, Keyword, Target


@dataclass(frozen=True)
class Text:
    """A literal string, or True, False or None as themselves.

    Attributes:
        value: the literal.
        when: conditions under which a name was given it.
    """

    value: str | bool | None
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Flag:
    """Something that is true only under conditions, and false only under others."""

    true: tuple[Condition, ...]
    false: tuple[Condition, ...]


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function, as `inspect.signature` gives them."""

    path: str


@dataclass(frozen=True)
class Names:
    """The names that an object has, as `dir` gives them."""

    path: str


@dataclass(frozen=True)
class InstalledVersion:
    """The version of the installed AITER.

    Attributes:
        parsed: as a version that compares by its numbers; False for the text, which compares by its letters.
    """

    parsed: bool = False


@dataclass(frozen=True)
class Other:
    """Something of another package."""


@dataclass(frozen=True)
class Function:
    """A function of the file, by its qualified name."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An instance or the class itself: attributes are looked up in the class of that name in the file."""

    name: str


@dataclass(frozen=True)
class Sequence:
    """A literal list, tuple or set."""

    elements: tuple[Values, ...]


@dataclass(frozen=True)
class Partial:
    """`functools.partial` of something."""

    of: tuple[Target, ...]
    arguments: Arguments


@dataclass(eq=False)
class Dictionary:
    """A dictionary, which later statements fill: keys, their values, and whether all keys are known."""

    keywords: list[Keyword] = field(default_factory=list)
    values: dict[str, Values] = field(default_factory=dict)
    open: bool = False


Value = (
    Target
    | Text
    | Flag
    | Parameters
    | Names
    | InstalledVersion
    | Other
    | Function
    | Instance
    | Sequence
    | Partial
    | Dictionary
)
Values = tuple[Value, ...]


def merged(*alternatives: Values) -> Values:
    """Every value once, in order."""
    known = [values for values in alternatives if values]
    if len(known) < 2:
        return known[0] if known else ()
    return tuple(dict.fromkeys(value for values in known for value in values))


def targets(values: Values) -> tuple[Target, ...]:
    """Those that are dotted paths."""
    return tuple(value for value in values if isinstance(value, Target)) if values else ()


def _is_asked_for(target: Target) -> bool:
    asked = [one for condition in target.when if condition.expected for one in condition.requirements]
    return any(target.path == one.path for one in asked)


def only_when(values: Values, when: tuple[Condition, ...]) -> Values:
    """The values, of which paths and texts also remember under which conditions they are there."""
    return tuple(_under(value, when) for value in values) if when else values


def _under(value: Value, when: tuple[Condition, ...]) -> Value:
    if isinstance(value, (Target, Text)):
        extra = tuple(condition for condition in when if condition not in value.when)
        return replace(value, when=value.when + extra) if extra else value
    return value


def texts(values: Values) -> list[str]:
    """Those that are literal strings."""
    return [value.value for value in values if isinstance(value, Text) and isinstance(value.value, str)]


def is_mixed(values: Values) -> bool:
    """Whether a name stands for something of AITER's on one platform and for something else on another.

    Not where AITER itself decides: a name that something else replaces when the import fails is used alike.
    """
    paths = [value.path for value in targets(values) if not _is_asked_for(value)]
    others = any(isinstance(value, (Other, Function)) for value in values)
    hosts = [path for path in paths if path.startswith(HOST)]
    return len(paths) > len(hosts) and (others or bool(hosts))
