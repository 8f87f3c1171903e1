"""Find the class that serves `ac.GateMode`, `ac.ActivationType` or `ac.QuantType`, on first touch.

There is no lock here (importing AITER has its own, twins are made once): a fork cannot leave one locked in the child,
and a thread that imports AITER cannot wait for one that resolves an enum and waits for AITER.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiter_compat.detect import installation
from aiter_compat.enums.twins import gate_mode_twin, pybind_twin
from aiter_compat.errors import AiterImportError
from aiter_compat.features.installed import active_surface
from aiter_compat.features.paths import ACTIVATION_TYPE, GATE_MODE, QUANT_TYPE, stated_members
from aiter_compat.native import import_symbol
from aiter_compat.releases import newest_record


@dataclass(frozen=True)
class _Served:
    paths: tuple[str, ...]
    make_twin: Callable[[Mapping[str, int | str]], type]
    unfit: Callable[[type], str | None] = lambda _: None  # why an AITER's class cannot serve, or None


def _unfit_gate_mode(cls: type) -> str | None:
    """Where flydsl is too old, v0.1.17 on define a GateMode of two members that are no strings in aiter/fused_moe.py.

    `fused_moe` refuses those members (its operator takes a string), so the twin serves better than that class.
    """
    return None if issubclass(cls, str) else "is AITER's stand-in for a missing FlyDSL, whose members are no strings"


_SERVED = {
    "GateMode": _Served(GATE_MODE, gate_mode_twin, _unfit_gate_mode),
    "ActivationType": _Served(ACTIVATION_TYPE, functools.partial(pybind_twin, "ActivationType")),
    "QuantType": _Served(QUANT_TYPE, functools.partial(pybind_twin, "QuantType")),
}
ENUM_NAMES = tuple(_SERVED)


@dataclass(frozen=True)
class Resolution:
    """Which class serves an enum name, and why.

    Attributes:
        name: "GateMode", "ActivationType" or "QuantType".
        cls: the class.
        path: dotted path in AITER it came from; None for a twin.
        reason: why this class, in one sentence.
    """

    name: str
    cls: type
    path: str | None
    reason: str


# Replaced, not emptied, by `forget_enums`: what a running resolution is about to store lands in the old table.
_resolved: dict[str, Resolution] = {}


def enum_class(name: str) -> Any:
    """The class that serves `name`; importing AITER on first touch where it is installed."""
    return resolution(name).cls


def resolution(name: str) -> Resolution:
    """The class that serves `name` and why."""
    resolved = _resolved
    known = resolved.get(name)
    return known if known is not None else resolved.setdefault(name, _resolve(name, _SERVED[name]))


def members_of(name: str) -> Mapping[str, int | str]:
    """Member names and values of the enum `name`, from files or records; imports nothing."""
    for source in (active_surface(), newest_record().surface):
        members = None if source is None else stated_members(source, _SERVED[name].paths)
        if members is not None:
            return members
    raise AssertionError(f"the newest release record has no {name}")


def forget_enums() -> None:
    """Resolve again on next touch."""
    global _resolved  # noqa: PLW0603 - the one piece of state of this module
    _resolved = {}


def _resolve(name: str, served: _Served) -> Resolution:
    found = installation()
    surface = active_surface()
    if surface is None:
        return Resolution(name, served.make_twin(members_of(name)), None, f"twin: {found}")
    failures: list[str] = []
    for path in served.paths:
        if not surface.has(path):
            continue
        try:
            cls = import_symbol(path)
        except AiterImportError as error:
            failures.extend(error.reasons)
            continue
        why_not = served.unfit(cls) if isinstance(cls, type) else "is not a class"
        if isinstance(cls, type) and why_not is None:
            return Resolution(name, cls, path, f"AITER's own class, from {path}")
        failures.append(f"{path} {why_not}")
    why = "; ".join(failures) or f"this AITER has no {name}"
    return Resolution(name, served.make_twin(members_of(name)), None, f"twin: {why}")
