"""The factors of tox.ini: which AITER an environment has, and what is expected of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from packaging.version import Version

from aiter_compat.quirks import has_quirk
from aiter_compat.releases import recorded_releases
from stub_wheels.variants import VARIANTS

Expectation = Literal["absent", "served", "too_old", "fails", "foreign", "namespace"]

FOREIGN = "aiter==0.13.20191203"
"""PyPI's unrelated package called aiter."""
PREFIX = "aiter"

_FAILURES: dict[str, tuple[str, str]] = {
    "broken": ("RuntimeError", "ROCm version file not found"),
    "incompatible": ("ValueError", "too many values to unpack (expected 2)"),
    "truncated": ("ImportError", "cannot import name 'ActivationType' from 'aiter'"),
    "keyerror": ("KeyError", "'gfx1151'"),
    "exits": ("SystemExit", "1"),
}


@dataclass(frozen=True)
class Factor:
    """What one factor means.

    Attributes:
        name: as in tox.ini, without the prefix.
        expectation: what must happen beside it.
        stub: name of its stub wheel (`stub_wheels.variant`); None where it has none.
        version: version that is then installed; None for none.
        failure: type and text of the error that importing it raises; None where it imports.
    """

    name: str
    expectation: Expectation
    stub: str | None = None
    version: str | None = None
    failure: tuple[str, str] | None = None


def factor(name: str) -> Factor:
    """The factor of this name; an environment's whole name ("py311-aiter0114") will do.

    Raises:
        LookupError: it is neither a recorded release without its dots nor one of the others.
    """
    name = name.rpartition(PREFIX)[2]
    if name == "none":
        return Factor(name, "absent")
    if name == "foreign":
        return Factor(name, "foreign", version=FOREIGN.rpartition("=")[2])
    if name == "namespace":
        return Factor(name, "namespace", stub=name)
    if name in VARIANTS:
        expectation: Expectation = "fails" if name in _FAILURES else "served"
        return Factor(name, expectation, name, VARIANTS[name].stated_version, _FAILURES.get(name))
    releases = {factor_name(release): release for release in recorded_releases()}
    if name not in releases:
        known = ", ".join(["none", "foreign", *VARIANTS, *releases])
        raise LookupError(f"{name!r} is no factor: use one of {known}")
    release = releases[name]
    too_old = has_quirk("release_too_old", Version(release))
    return Factor(name, "too_old" if too_old else "served", release, release)


def factor_name(release: str) -> str:
    """What tox.ini calls a release: tox reads dots in factors of its own."""
    return release.replace(".", "")
