"""What the body of a `try` needs of AITER, and what is known once it failed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from aiter_compat.hostscan.literals import exception_names
from aiter_compat.hostscan.model import Condition, Requirement

OTHER: Final = ""
"""Stands for the path of something that is not AITER's."""

_CATCHERS = {
    "ImportError": frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "*"}),
    "AttributeError": frozenset({"AttributeError", "Exception", "BaseException", "*"}),
}
_BROAD = frozenset({"Exception", "BaseException", "*"})


class Attempt(NamedTuple):
    """Something that every run of the body of a `try` needs.

    Attributes:
        path: dotted path of AITER's, or `OTHER`.
        error: name of the exception that its absence raises.
    """

    path: str
    error: str


def catches(names: Iterable[str], error: str) -> bool:
    """Whether an ImportError, or an AttributeError, is among what is caught."""
    return not _CATCHERS[error].isdisjoint(names)


def needed_of(attempts: Iterable[Attempt], caught: Collection[str]) -> tuple[Requirement, ...]:
    """What of it is AITER's, and ends in one of these exceptions when it is missing."""
    paths = [one.path for one in attempts if one.path != OTHER and catches(caught, one.error)]
    return tuple(Requirement(path) for path in dict.fromkeys(paths))


def failed(node: ast.Try, handler: ast.ExceptHandler, attempts: Iterable[Attempt]) -> tuple[Condition, ...]:
    """What is known in a handler: that something is missing, if nothing else can have led there."""
    attempts = list(attempts)
    caught = exception_names(handler.type)
    needed = needed_of(attempts, caught)
    others = any(one.path == OTHER and catches(caught, one.error) for one in attempts)
    if not needed or others or (_can_fail_otherwise(node.body) and not _BROAD.isdisjoint(caught)):
        return ()
    return (Condition(needed, expected=False),)


def _can_fail_otherwise(body: Iterable[ast.stmt]) -> bool:
    return any(isinstance(node, (ast.Call, ast.Subscript, ast.BinOp)) for one in body for node in ast.walk(one))
