"""The quirks of AITER's fused MoE that can change a result or make an argument pointless.

Ranges are release numbers, `until` exclusive; None for `until` means that no release is known to have ended it.
Sources are files of ROCm/aiter at the tag named, or public issues. The rows live in one file per subject.
"""

from __future__ import annotations

from functools import lru_cache

from packaging.version import Version

from aiter_compat.probe import Surface
from aiter_compat.quirks import activation_rows, layout_rows, padding_rows, routing_rows, support_rows
from aiter_compat.quirks.conditions import CONDITIONS, Call
from aiter_compat.quirks.model import Quirk

QUIRKS: tuple[Quirk, ...] = (
    *support_rows.ROWS,
    *activation_rows.ROWS,
    *routing_rows.ROWS,
    *layout_rows.ROWS,
    *padding_rows.ROWS,
)
_BY_NAME = {quirk.name: quirk for quirk in QUIRKS}


def has_quirk(name: str, version: Version | None, surface: Surface | None = None) -> bool:
    """Whether a release has the quirk of this name; None is taken for newer than every recorded release.

    Args:
        name: a quirk's name.
        version: the release.
        surface: the installed surface, where it is at hand: its evidence wins over `version`.

    Raises:
        KeyError: there is no such quirk.
    """
    return _BY_NAME[name].holds(version, surface)


def quirks_of(version: Version | None, surface: Surface | None = None) -> tuple[Quirk, ...]:
    """Every quirk that a release has; a version that nothing states is taken for newer than every recorded one."""
    return tuple(quirk for quirk in QUIRKS if quirk.holds(version, surface))


def quirks_met(
    call: Call,
    *,
    version: Version | None,
    surface: Surface,
    activation: str,
    quant_type: str,
    activation_format: str,
) -> tuple[Quirk, ...]:
    """The quirks of the installed release that apply to one call.

    Args:
        call: the call.
        version: the installed release; None: unknown.
        surface: its surface.
        activation: canonical name.
        quant_type: canonical name.
        activation_format: what AITER will quantise activations to ("none", "mxfp4", …).
    """
    possible = _possible(version, activation, quant_type, _contradicted(version, surface))
    return tuple(quirk for quirk in possible if all(CONDITIONS[name](call, activation_format) for name in quirk.when))


_last: tuple[Surface | None, Version | None, frozenset[str]] = (None, None, frozenset())


def _contradicted(version: Version | None, surface: Surface) -> frozenset[str]:
    """Quirks that the version has and the surface has not, or the other way round; kept for the last surface asked."""
    global _last  # noqa: PLW0603 - one tuple, replaced as a whole: threads compute the same
    seen, of, names = _last
    if seen is not surface or of != version:
        names = frozenset(quirk.name for quirk in QUIRKS if quirk.holds(version, surface) is not quirk.holds(version))
        _last = surface, version, names
    return names


@lru_cache(maxsize=1024)
def _possible(
    version: Version | None, activation: str, quant_type: str, contradicted: frozenset[str]
) -> tuple[Quirk, ...]:
    """Once per kind of call: versions are compared here, and a host calls every layer for every batch."""
    return tuple(
        quirk
        for quirk in QUIRKS
        if quirk.holds(version) is not (quirk.name in contradicted) and quirk.concerns(activation, quant_type)
    )
