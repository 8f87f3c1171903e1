"""The surface of the installed AITER, with the enum values that its files do not state filled in from a record.

There is no lock, so that a fork cannot leave one locked in the child: threads that ask at the same time may probe
twice, and all are given the same result.
"""

from __future__ import annotations

import dataclasses

from packaging.version import Version

from aiter_compat.detect import Installation, installation
from aiter_compat.features.paths import ACTIVATION_TYPE, QUANT_TYPE, stated_members
from aiter_compat.probe import Surface, Symbol, probe
from aiter_compat.releases import ReleaseRecord, nearest_record, newest_record, recorded_releases

_KEY = "surface"
# Replaced, not emptied, by `forget_surface`: what a running probe is about to store lands in the table it began with.
_known: dict[str, Surface | None] = {}


def active_surface() -> Surface | None:
    """The surface of the AITER on this machine, read from its files and never by importing it; None without AITER.

    A wheel built without headers does not say which values its compiled enums have. They are then taken from the last
    recorded release that is not newer (from the oldest one when all are, from the newest one when the version is
    unknown), and a note says so.
    """
    known = _known
    if _KEY not in known:
        found = installation()
        usable = found.kind == "present" and found.location is not None
        known.setdefault(_KEY, _surface_of(found, str(found.location)) if usable else None)
    return known[_KEY]


def forget_surface() -> None:
    """Probe again on next use."""
    global _known  # noqa: PLW0603 - the one piece of state of this module
    _known = {}


def _surface_of(found: Installation, location: str) -> Surface:
    surface = probe(location)
    # The first place that is defined is the one that is asked; a fork may define the enum elsewhere and state it there.
    unknown = [
        path
        for paths in (ACTIVATION_TYPE, QUANT_TYPE)
        if (path := surface.first(paths)) is not None and stated_members(surface, paths) is None
    ]
    if not unknown:
        return surface
    source = _record_for(found.release)
    symbols: dict[str, Symbol] = dict(surface.symbols)
    for path in unknown:
        name = path.rpartition(".")[2]
        members = source.surface.members(f"aiter.ops.enum.{name}")
        symbols[path] = dataclasses.replace(symbols[path], members=members)
    note = f"members of {' and '.join(unknown)} are not in its files; taken from the record of v{source.release}"
    return dataclasses.replace(surface, symbols=symbols, notes=(*surface.notes, note))


def _record_for(release: Version | None) -> ReleaseRecord:
    if release is None:
        return newest_record()
    oldest = Version(recorded_releases()[0])
    return nearest_record(max(release, oldest)) or newest_record()
