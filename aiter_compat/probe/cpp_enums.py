"""Enums of a C++ header, as text.

AITER's ActivationType and QuantType are compiled from `csrc/include/aiter_enum.h`; no Python file states their members.
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(?P<name>\w+)\s*(?::\s*[\w:\s]+?)?\s*\{(?P<body>[^}]*)\}")
_NUMBER = re.compile(r"(?P<sign>[-+]?)\s*(?P<digits>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlL]*")


def enums_in(header: str) -> dict[str, dict[str, int]]:
    """Members of each named enum, in order; a value left out is one more than the one before it, as C++ says.

    An enum with a value that is neither a number nor an earlier member, or with preprocessor lines inside, is left
    out: half of its members would be worse than none.
    """
    found: dict[str, dict[str, int]] = {}
    for match in _ENUM.finditer(_COMMENT.sub(" ", header)):
        members = _members(match["body"])
        if members:
            found[match["name"]] = members
    return found


def _members(body: str) -> dict[str, int] | None:
    if "#" in body:
        return None
    members: dict[str, int] = {}
    following = 0
    for item in body.split(","):
        name, equals, expression = (part.strip() for part in item.partition("="))
        if not name:
            continue
        value = _value(expression, members) if equals else following
        if value is None or not name.isidentifier():
            return None
        members[name] = value
        following = value + 1
    return members


def _value(expression: str, earlier: dict[str, int]) -> int | None:
    if expression in earlier:
        return earlier[expression]
    number = _NUMBER.fullmatch(expression)
    if number is None:
        return None
    digits = number["digits"]
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    value = int(digits, 8) if octal else int(digits, 0)
    return -value if number["sign"] == "-" else value
