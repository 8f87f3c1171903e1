"""Calls whose positional arguments bind other parameters in one release than in another; told from the records.

A parameter that was inserted, or moved, among those that a host passes by position changes the meaning of the call
without an error. One that was merely renamed does not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from aiter_compat.checker.binding import misfit
from aiter_compat.checker.finding import Finding
from aiter_compat.checker.gaps import reached
from aiter_compat.checker.release_view import ReleaseView
from aiter_compat.hostscan import Arguments, HostScan, Use

CODE = "positional-order"
_MEANS_NOTHING = frozenset({"None", "False", "0", "0.0"})
"""Arguments that leave either parameter at what it is without them, most likely."""


class _Change(NamedTuple):
    position: int
    before: str
    after: str
    releases: tuple[str, ...]


def reordered(scan: HostScan, views: Sequence[ReleaseView], known: Collection[str]) -> list[Finding]:
    """One finding for each call that means different things on these releases.

    Args:
        scan: what the host uses.
        views: the releases, oldest first.
        known: symbols that a migration speaks of by name.
    """
    found: dict[tuple[str, int, str], Finding] = {}
    for file in scan.files:
        for use in file.uses:
            path = _called(use)
            if path is None or path in known or use.arguments is None:
                continue
            change = _change(path, use.arguments, [view for view in views if _is_reached(use, view)])
            if change is not None:
                found.setdefault((file.file, use.place.line, path), _finding(use, file.file, path, change))
    return list(found.values())


def _called(use: Use) -> str | None:
    """The one function that a call can mean."""
    paths = {target.path for target in use.targets}
    mixed = any(target.mixed for target in use.targets)
    return paths.pop() if use.kind == "call" and len(paths) == 1 and not mixed else None


def _is_reached(use: Use, view: ReleaseView) -> bool:
    return reached(view, [condition for condition in use.place.conditions if condition.requirements])


def _change(path: str, arguments: Arguments, views: Sequence[ReleaseView]) -> _Change | None:
    given = arguments.bound + len(arguments.positional)
    if arguments.starred or not given:
        return None
    orders = [(view.release, names) for view in views if (names := _names(view, path, arguments))]
    for (_, before), (release, after) in pairwise(orders):
        for position in range(arguments.bound, given):
            old, new = before[position], after[position]
            moved = old != new and (old in after or new in before)
            if moved and any(one not in _MEANS_NOTHING for one in arguments.positional[position - arguments.bound :]):
                later = tuple(name for name, names in orders if names[:given] == after[:given])
                return _Change(position, old, new, later or (release,))
    return None


def _names(view: ReleaseView, path: str, arguments: Arguments) -> tuple[str, ...]:
    """Names of the positional parameters; none where the call fails, which is reported by itself."""
    ending = view.reached(path)
    if ending.symbol is None or ending.rest or ending.symbol.parameters is None:
        return ()
    parameters = ending.symbol.parameters
    if misfit(parameters, arguments) is not None:
        return ()
    names = tuple(one.name for one in parameters if one.kind in ("positional_only", "positional_or_keyword"))
    return names if len(names) >= arguments.bound + len(arguments.positional) else ()


def _finding(use: Use, file: str, path: str, change: _Change) -> Finding:
    place = use.place
    return Finding(
        code=CODE,
        symbol=path,
        file=file,
        line=place.line,
        message=(
            f"argument {change.position + 1} of {path} is {change.after} from v{change.releases[0]} on, "
            f"and {change.before} before"
        ),
        remedy="Pass it by keyword, or ask for one contract of the function with aiter_compat.load.",
        releases=change.releases,
        lines=frozenset({place.line, place.item_line}),
    )
