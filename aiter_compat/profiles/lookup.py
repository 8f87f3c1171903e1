"""From a name, or an installed version, to a numerics profile."""

from __future__ import annotations

from dataclasses import replace

from packaging.version import InvalidVersion, Version

from aiter_compat.errors import InvalidArgument
from aiter_compat.profiles.choices import ALLOWED
from aiter_compat.profiles.model import NumericsProfile
from aiter_compat.profiles.table import ARITHMETIC_SINCE, DEFAULT_PROFILE, PROFILES
from aiter_compat.releases import recorded_releases

_PREFIX = "aiter-"


def profile(name: str | NumericsProfile | None = None, **overrides: str | float) -> NumericsProfile:
    """A named numerics profile, with overrides.

    Args:
        name: one of `profile_names()`, or `aiter-<release>` for any recorded release ("aiter-0.1.20" computes what
            "aiter-0.1.16" does; X.Y.Z means its last post), or a profile, which passes through. None is
            "aiter-0.1.15".
        **overrides: fields of `NumericsProfile` to change, such as `second_qdq_from="fp32"`.

    Returns:
        The profile. Its `name` is the one asked for; overrides show in the fields.

    Raises:
        InvalidArgument: the name, a field or a value is not known.
    """
    base = name if isinstance(name, NumericsProfile) else _named(DEFAULT_PROFILE if name is None else name)
    for key, value in overrides.items():
        _validate(key, value)
    return replace(base, **overrides) if overrides else base  # type: ignore[arg-type]


def profile_names() -> tuple[str, ...]:
    """The names of the distinct profiles, AITER's oldest first."""
    return tuple(PROFILES)


def profile_for_release(version: Version | None) -> str:
    """Name of the profile that an AITER of this version computes by.

    Only the release segment counts: a dev or rc build of X.Y.Z, and its posts, compute as X.Y.Z. Versions newer than
    any known release get the newest arithmetic, older ones the oldest, None (no AITER, or an unknown version) the
    default.
    """
    if version is None:
        return DEFAULT_PROFILE
    found = ARITHMETIC_SINCE[0][1]
    for since, name in ARITHMETIC_SINCE:
        if Version(version.base_version) >= Version(since):
            found = name
    return found


def _named(name: str) -> NumericsProfile:
    if not isinstance(name, str):
        raise InvalidArgument("numerics", name, "a profile name or a NumericsProfile")
    if name in PROFILES:
        return PROFILES[name]
    release = _known_release(name)
    if release is None:
        raise InvalidArgument(
            "numerics",
            name,
            f"{', '.join(PROFILES)}, or {_PREFIX}<release> for any of {', '.join(recorded_releases())}",
        )
    return replace(PROFILES[profile_for_release(release)], name=name)


def _known_release(name: str) -> Version | None:
    if not name.startswith(_PREFIX):
        return None
    try:
        version = Version(name[len(_PREFIX) :])
    except InvalidVersion:
        return None
    known = {Version(release) for release in recorded_releases()}
    return version if version in known | {Version(release.base_version) for release in known} else None


def _validate(key: str, value: str | float) -> None:
    allowed = ALLOWED.get(key)
    if allowed is None:
        raise InvalidArgument("numerics", key, f"the fields {', '.join(ALLOWED)}")
    if value not in allowed:
        raise InvalidArgument(key, value, ", ".join(map(repr, allowed)))
