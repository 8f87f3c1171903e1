"""One parameter of a function, and parameter lists as the short texts that records hold.

The texts are those of a Python signature: `["a", "/", "b=1", "*args", "c=None", "**kwargs"]`, with `"*"` alone
where keyword-only parameters begin without a `*args`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

ParameterKind = Literal["positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function.

    Attributes:
        name: its name, without stars.
        kind: named as in `inspect`, in lower case.
        default: source text of the default; None when the caller must pass it, or may leave out a starred one.
    """

    name: str
    kind: ParameterKind = "positional_or_keyword"
    default: str | None = None


def to_texts(parameters: Iterable[Parameter]) -> list[str]:
    """The parameter list in the form that the module's docstring shows."""
    texts: list[str] = []
    previous: ParameterKind | None = None
    for parameter in parameters:
        if previous == "positional_only" and parameter.kind != "positional_only":
            texts.append("/")
        if parameter.kind == "keyword_only" and previous not in ("var_positional", "keyword_only"):
            texts.append("*")
        previous = parameter.kind
        stars = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
        default = "" if parameter.default is None else f"={parameter.default}"
        texts.append(f"{stars}{parameter.name}{default}")
    if previous == "positional_only":
        texts.append("/")
    return texts


def from_texts(texts: Iterable[str]) -> tuple[Parameter, ...]:
    """The inverse of `to_texts`.

    Raises:
        ValueError: a text names no parameter.
    """
    parameters: list[Parameter] = []
    kind: ParameterKind = "positional_or_keyword"
    for text in texts:
        if text == "/":
            parameters = [Parameter(known.name, "positional_only", known.default) for known in parameters]
        elif text == "*":
            kind = "keyword_only"
        elif text.startswith("**"):
            parameters.append(Parameter(_name(text[2:]), "var_keyword"))
        elif text.startswith("*"):
            parameters.append(Parameter(_name(text[1:]), "var_positional"))
            kind = "keyword_only"
        else:
            name, has_default, default = text.partition("=")
            parameters.append(Parameter(_name(name), kind, default if has_default else None))
    return tuple(parameters)


def _name(text: str) -> str:
    if not text.isidentifier():
        raise ValueError(f"{text!r} names no parameter")
    return text
