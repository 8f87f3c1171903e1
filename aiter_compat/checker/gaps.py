"""What a release lacks of what a host uses."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from packaging.version import Version

from aiter_compat.checker.binding import misfit
from aiter_compat.checker.release_view import Ending, ReleaseView
from aiter_compat.hostscan import Arguments, Condition, HostScan, Keyword, Place, Requirement, Target, Use
from aiter_compat.hostscan.model import Scope
from aiter_compat.releases.symbol_records import symbol_releases

GapKind = Literal["missing-module", "missing-symbol", "missing-keyword", "missing-enum-member", "changed-meaning"]

_ANY = frozenset({"*", "Exception", "BaseException"})
_SURVIVED_BY = {
    "missing-module": _ANY | {"ImportError", "ModuleNotFoundError"},
    "missing-symbol": _ANY | {"ImportError"},
    "missing-keyword": _ANY | {"TypeError"},
    "missing-enum-member": _ANY | {"AttributeError", "KeyError"},
    "changed-meaning": _ANY | {"TypeError"},
}
_OF_ATTRIBUTES = {
    "missing-symbol": _ANY | {"AttributeError"},
    "missing-enum-member": _SURVIVED_BY["missing-enum-member"],  # `Enum["member"]` raises KeyError
}
_COMPARISONS: Mapping[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Gap:
    """One use of a host that one release does not serve.

    Attributes:
        release: the release.
        kind: what it lacks; "changed-meaning": the call does not fit the function's parameters.
        symbol: dotted path as the host writes it; of a keyword, `path(keyword)`.
        file: relative to the scanned tree, with forward slashes.
        line: first line of the statement, call or expression.
        item_line: line of the name or keyword itself.
        scope: "module" when importing the file is enough to meet it, "function" when a call is needed.
        guarded: the host survives: it catches the error, or asked before it came here.
        message: one sentence.
    """

    release: str
    kind: GapKind
    symbol: str
    file: str
    line: int
    item_line: int
    scope: Scope
    guarded: bool
    message: str

    def key(self) -> tuple[str, str, str, str, int]:
        """Two gaps with the same key are one."""
        return self.release, self.kind, self.symbol, self.file, self.line


def gaps(scan: HostScan, views: Sequence[ReleaseView]) -> list[Gap]:
    """Every gap, by file, line, symbol and release.

    Args:
        scan: what the host uses.
        views: the releases, oldest first.
    """
    stars = _star_names(scan)
    found: dict[tuple[str, str, str, str, int], Gap] = {}
    for file in scan.files:
        for use in file.uses:
            if _is_another_name(use, stars):
                continue
            for view in views:
                for gap in _of_use(use, view, file.file):
                    known = found.get(gap.key())
                    if known is None or (known.guarded and not gap.guarded):
                        found[gap.key()] = gap
    order = {view.release: position for position, view in enumerate(views)}
    return sorted(found.values(), key=lambda gap: (gap.file, gap.line, gap.symbol, order[gap.release]))


def holds(view: ReleaseView, requirement: Requirement) -> bool:
    """Whether a release has what a test of the host looks for."""
    if requirement.version is not None:
        comparison, version = requirement.version
        return _COMPARISONS[comparison](view.order(), Version(version))
    if requirement.keyword is None:
        return view.has(requirement.path)
    return view.takes(requirement.path, requirement.keyword) is not False and view.has(requirement.path)


def reached(view: ReleaseView, conditions: Iterable[Condition]) -> bool:
    """Whether code under these conditions runs with this release; False also when only the host can tell."""
    return all(bool(condition.requirements) and _is_met(view, condition) for condition in conditions)


def _is_met(view: ReleaseView, condition: Condition) -> bool:
    quantifier = any if condition.some else all
    return quantifier(holds(view, one) for one in condition.requirements) is condition.expected


def _of_use(use: Use, view: ReleaseView, file: str) -> Iterator[Gap]:
    if use.kind == "version":
        return
    use = _with_bindings(use, view)
    standing = [target for target in use.targets if _may_stand(view, target)]
    for target in standing or use.targets:  # none stands: the host does not come here, which the place tells as well
        if use.kind == "import":
            yield from _import(use, target, view, file)
        elif use.kind == "find_spec":
            yield from _find_spec(use, target, view, file)
        elif use.kind == "call":
            yield from _call(use, target, view, file)
        else:
            yield from _attribute(use, target, view, file)


def _with_bindings(use: Use, view: ReleaseView) -> Use:
    """The use; where its name is not even bound with this release, under the conditions of the binding as well."""
    if any(_may_stand(view, target) for target in use.targets):
        return use
    conditions = (*use.place.conditions, *use.targets[0].when)
    return replace(use, place=replace(use.place, conditions=conditions))


def _may_stand(view: ReleaseView, target: Target) -> bool:
    """Whether the name can stand for this with this release; conditions that no record decides do not speak against."""
    return reached(view, (condition for condition in target.when if condition.requirements))


def _import(use: Use, target: Target, view: ReleaseView, file: str) -> Iterator[Gap]:
    ending = view.imported(use.module, target.path)
    if ending.lack == "missing-module":
        yield _gap(view, "missing-module", target.path, file, use.place, f"{view.tag} has no module {ending.at}")
    elif ending.lack is not None:
        message = f"{view.tag} has no {target.path.rpartition('.')[2]} in {use.module}"
        yield _gap(view, "missing-symbol", target.path, file, use.place, message)


def _find_spec(use: Use, target: Target, view: ReleaseView, file: str) -> Iterator[Gap]:
    if view.imports(target.path):
        return
    parent = target.path.rpartition(".")[0]
    survives = not parent or view.imports(parent)  # find_spec imports the parent, and raises when that fails
    message = f"{view.tag} has no module {target.path}" + (
        "" if survives else f", and find_spec() raises without {parent}"
    )
    yield _gap(view, "missing-module", target.path, file, use.place, message, survives=survives)


def _attribute(use: Use, target: Target, view: ReleaseView, file: str) -> Iterator[Gap]:
    if not _base_is_there(view, target):
        return  # the import answers for it
    ending = view.reached(target.path)
    if ending.lack is None:
        return
    owner, _, name = ending.at.rpartition(".")
    kind: GapKind = "missing-enum-member" if ending.lack == "missing-enum-member" else "missing-symbol"
    message = f"{view.tag} has no {name} in {owner}"
    survives = use.kind == "probe" or not use.place.caught.isdisjoint(_OF_ATTRIBUTES[kind])
    place = _without_catch(use.place)
    yield _gap(view, kind, ending.at, file, place, message, survives=survives)


def _call(use: Use, target: Target, view: ReleaseView, file: str) -> Iterator[Gap]:
    arguments = use.arguments
    if arguments is None or not _base_is_there(view, target):
        return
    ending = view.reached(target.path)
    if ending.lack is not None or ending.symbol is None or ending.rest:
        return
    refused = _refused(view, target.path, arguments)
    problem = _misfit(ending, arguments, refused)
    if target.mixed and (refused or problem) and not _is_taken_by_some_release(target.path, arguments):
        return  # on this platform the name stands for something else, which the call is written for
    for keyword in refused:
        message = f"{_called(ending)} of {view.tag} takes no keyword {keyword.name}"
        place = _joined(keyword, use.place)
        yield _gap(view, "missing-keyword", f"{target.path}({keyword.name})", file, place, message)
    if problem is not None:
        message = f"{_called(ending)} of {view.tag} {problem}"
        yield _gap(view, "changed-meaning", target.path, file, use.place, message)


def _refused(view: ReleaseView, path: str, arguments: Arguments) -> list[Keyword]:
    return [one for one in arguments.keywords if view.takes(path, one.name) is False]


def _misfit(ending: Ending, arguments: Arguments, refused: Iterable[Keyword]) -> str | None:
    parameters = None if ending.symbol is None or ending.rest else ending.symbol.parameters
    return None if parameters is None else misfit(parameters, arguments, {one.name for one in refused})


@cache
def _recorded() -> tuple[ReleaseView, ...]:
    return tuple(ReleaseView.of(release) for release in symbol_releases())


def _is_taken_by_some_release(path: str, arguments: Arguments) -> bool:
    """Whether the call fits the function of any recorded release."""
    return any(
        view.has(path) and not _refused(view, path, arguments) and not _misfit(view.reached(path), arguments, ())
        for view in _recorded()
    )


def _called(ending: Ending) -> str:
    return f"{ending.symbol.path if ending.symbol else ''}()"


def _base_is_there(view: ReleaseView, target: Target) -> bool:
    parts = target.path.split(".")
    return target.known == 0 or view.has(".".join(parts[: target.known]))


def _joined(keyword: Keyword, call: Place) -> Place:
    place = keyword.place
    return Place(place.line, place.item_line, call.scope, (*place.conditions, *call.conditions), call.caught)


def _without_catch(place: Place) -> Place:
    return Place(place.line, place.item_line, place.scope, place.conditions)


def _gap(
    view: ReleaseView, kind: GapKind, symbol: str, file: str, place: Place, message: str, *, survives: bool = False
) -> Gap:
    guarded = survives or not place.caught.isdisjoint(_SURVIVED_BY[kind]) or not reached(view, place.conditions)
    return Gap(view.release, kind, symbol, file, place.line, place.item_line, place.scope, guarded, message)


def _star_names(scan: HostScan) -> frozenset[str]:
    """Names that came by `import *` and that some recorded release really has under that path."""
    asked = {target.path for file in scan.files for use in file.uses for target in use.targets if target.star}
    return frozenset(path for path in asked if any(view.has(path) for view in _recorded()))


def _is_another_name(use: Use, stars: frozenset[str]) -> bool:
    return any(target.star for target in use.targets) and not any(target.path in stars for target in use.targets)
