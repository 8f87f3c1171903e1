"""Whether calls written for one signature mean the same under another, told from the parameter lists alone."""

from __future__ import annotations

from collections.abc import Sequence

from aiter_compat.probe.parameters import Parameter

_POSITIONAL = ("positional_only", "positional_or_keyword")
_NAMED = ("positional_or_keyword", "keyword_only")


def incompatibilities(before: Sequence[Parameter], after: Sequence[Parameter]) -> tuple[str, ...]:
    """What breaks, or binds to another parameter, when a call written for `before` reaches `after`.

    Defaults are not compared: what a new default means is no matter of the signature. A call is any that `before`
    accepts, by position as well as by keyword.

    Returns:
        One half-sentence for each thing; empty when every call for `before` works and binds the same.
    """
    problems: list[str] = []
    takes_any_position = any(parameter.kind == "var_positional" for parameter in after)
    takes_any_keyword = any(parameter.kind == "var_keyword" for parameter in after)
    by_position = [parameter.name for parameter in after if parameter.kind in _POSITIONAL]
    by_name = {parameter.name: parameter for parameter in after if parameter.kind in _NAMED}
    known = {parameter.name for parameter in before}

    for parameter in before:
        if parameter.kind in _NAMED and parameter.name not in by_name and not takes_any_keyword:
            problems.append(f"{parameter.name} is gone")
        elif parameter.kind == "var_positional" and not takes_any_position:
            problems.append(f"*{parameter.name} is gone")
        elif parameter.kind == "var_keyword" and not takes_any_keyword:
            problems.append(f"**{parameter.name} is gone")
        later = by_name.get(parameter.name)
        if later is not None and parameter.default is not None and later.default is None:
            problems.append(f"{parameter.name} has no default any more")
    for position, parameter in enumerate(one for one in before if one.kind in _POSITIONAL):
        there = by_position[position] if position < len(by_position) else None
        if there is None:
            if not takes_any_position and (parameter.kind == "positional_only" or parameter.name in by_name):
                problems.append(f"{parameter.name} cannot be passed by position any more")
        elif there != parameter.name:
            problems.append(f"position {position} is {there}, was {parameter.name}")
            break  # everything after it is shifted too
    problems += [
        f"{parameter.name} must be passed"
        for parameter in after
        if parameter.name not in known and parameter.default is None and not parameter.kind.startswith("var_")
    ]
    return tuple(problems)


def breaks_shortest_call(before: Sequence[Parameter], after: Sequence[Parameter]) -> bool:
    """Whether even a call that passes by position nothing but what `before` demands fails or binds otherwise.

    This tells a changed contract from parameters that were inserted among the optional ones.
    """
    by_position = [parameter.name for parameter in after if parameter.kind in _POSITIONAL]
    takes_any_position = any(parameter.kind == "var_positional" for parameter in after)
    demanded = [parameter.name for parameter in before if parameter.kind in _POSITIONAL and parameter.default is None]
    there = by_position[: len(demanded)]
    if there != demanded and not (takes_any_position and there == demanded[: len(there)]):
        return True
    passed = {parameter.name for parameter in before if parameter.default is None}
    return any(
        parameter.default is None and not parameter.kind.startswith("var_") and parameter.name not in passed
        for parameter in after
    )
