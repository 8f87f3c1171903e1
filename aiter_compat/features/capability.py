"""Capabilities of the installed AITER: a named yes or no, with a reason that a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aiter_compat.detect import Installation, installation
from aiter_compat.errors import InvalidArgument
from aiter_compat.features.installed import active_surface
from aiter_compat.features.table import BY_NAME, RULES, CapabilityRule
from aiter_compat.probe import Surface


@dataclass(frozen=True)
class Capability:
    """Whether the installed AITER has something.

    Attributes:
        name: what code asks for, such as "gate_mode".
        available: the answer.
        reason: why, in one sentence.
        since: first AITER release with it, without the v.
        summary: what it lets a host do.
    """

    name: str
    available: bool
    reason: str
    since: str
    summary: str

    def __bool__(self) -> bool:
        return self.available


_KEY = "capabilities"
# Lock-free and replaced by `forget_capabilities`, as in features/installed.py.
_known: dict[str, Mapping[str, Capability]] = {}


def capabilities() -> Mapping[str, Capability]:
    """Every capability of the AITER on this machine, by name; all of them unavailable when there is none.

    The installed files decide, not the version number: development builds and forks have features that their number
    denies. Nothing is imported.
    """
    known = _known
    if _KEY not in known:
        known.setdefault(_KEY, capabilities_of(installation(), active_surface()))
    return known[_KEY]


def supports(name: str) -> bool:
    """Whether the AITER on this machine has the capability `name`.

    Raises:
        InvalidArgument: no capability has this name.
    """
    table = capabilities()
    if name not in table:
        raise InvalidArgument("name", name, ", ".join(sorted(table)), "ac.capabilities() explains each.")
    return table[name].available


def forget_capabilities() -> None:
    """Decide again on next use."""
    global _known  # noqa: PLW0603 - the one piece of state of this module
    _known = {}


def capabilities_of(found: Installation, surface: Surface | None) -> Mapping[str, Capability]:
    """The capabilities of an installation with this surface (None: nothing usable is installed)."""
    return MappingProxyType({rule.name: _decide(rule, found, surface) for rule in RULES})


def missing_for(name: str, surface: Surface) -> str | None:
    """What `surface` lacks for the capability `name`, as half a sentence; None when it has it."""
    for need in BY_NAME[name].needs:
        lacking = need.missing(surface)
        if lacking is not None:
            return lacking
    return None


def _decide(rule: CapabilityRule, found: Installation, surface: Surface | None) -> Capability:
    if surface is None:
        return Capability(rule.name, False, str(found), rule.since, rule.summary)
    label = f"AITER {found.version}" if found.version else "the installed AITER (version unknown)"
    lacking = missing_for(rule.name, surface)
    if lacking is None:
        return Capability(rule.name, True, f"{label} has it", rule.since, rule.summary)
    reason = f"in {label} {lacking}; releases from v{rule.since} on have it"
    return Capability(rule.name, False, reason, rule.since, rule.summary)
