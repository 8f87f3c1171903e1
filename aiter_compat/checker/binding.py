"""Whether the arguments of a call fit the parameters of a function."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aiter_compat.hostscan import Arguments
from aiter_compat.probe.parameters import Parameter

_POSITIONAL = ("positional_only", "positional_or_keyword")


def misfit(parameters: Sequence[Parameter], arguments: Arguments, refused: Collection[str] = ()) -> str | None:
    """Why the call fails, in half a sentence; None when it does not, or when that cannot be told.

    Args:
        parameters: those of the function.
        arguments: those of the call.
        refused: keywords that are reported by themselves.
    """
    places = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    given = arguments.bound + len(arguments.positional)
    if not arguments.starred and given > len(places) and not any(one.kind == "var_positional" for one in parameters):
        return f"takes at most {len(places)} positional arguments, and is given {given}"
    names = {keyword.name for keyword in arguments.keywords if keyword.name not in refused}
    if not arguments.starred:
        twice = next((one.name for one in places[:given] if one.name in names and one.kind != "positional_only"), None)
        if twice is not None:
            return f"has {twice} at position {[one.name for one in places].index(twice) + 1}, and is given it twice"
    if arguments.open or arguments.starred:
        return None
    needed = [one.name for one in places[given:] if one.default is None and one.name not in names]
    needed += [
        one.name for one in parameters if one.kind == "keyword_only" and one.default is None and one.name not in names
    ]
    return f"needs {', '.join(needed)}, which the call leaves out" if needed else None
