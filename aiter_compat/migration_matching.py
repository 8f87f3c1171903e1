"""Questions about a use of a host, as the rules of migrations ask them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiter_compat.hostscan.model import Use

ENUMS = tuple(f"{module}.{name}" for module in ("aiter", "aiter.ops.enum") for name in ("ActivationType", "QuantType"))


def calls(use: Use, path: str) -> bool:
    """Whether it is a call of this symbol."""
    return calls_any(use, (path,))


def calls_any(use: Use, paths: Collection[str]) -> bool:
    """Whether it is a call of one of these symbols."""
    return use.kind == "call" and any(target.path in paths for target in use.targets)


def imports_below(use: Use, package: str) -> bool:
    """Whether it imports something from inside this package."""
    return use.kind == "import" and any(target.path.startswith(f"{package}.") for target in use.targets)


def lacks_keyword(use: Use, name: str) -> bool:
    """Whether the call certainly leaves a keyword out."""
    arguments = use.arguments
    return arguments is not None and not arguments.open and all(one.name != name for one in arguments.keywords)


def keyword_value(use: Use, name: str) -> str:
    """Source text of a keyword's value; "" when it is not passed, or is more than a constant or a name."""
    keywords = () if use.arguments is None else use.arguments.keywords
    return next((one.value for one in keywords if one.name == name), "")


def positional(use: Use) -> int:
    """Number of positional arguments of the call."""
    return 0 if use.arguments is None else use.arguments.bound + len(use.arguments.positional)


def argument(use: Use, name: str, position: int) -> str:
    """Source text of an argument that is passed by keyword or by position (from 0)."""
    by_position = () if use.arguments is None else use.arguments.positional
    return keyword_value(use, name) or (by_position[position] if position < len(by_position) else "")


def first_is_number(use: Use) -> bool:
    """Whether the first argument of the call is a literal integer."""
    return argument(use, "value", 0).lstrip("+-").isdigit()
