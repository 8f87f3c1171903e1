"""Which recorded releases a host has to run on."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from aiter_compat.errors import InvalidArgument
from aiter_compat.releases.symbol_records import symbol_releases

_ALLOWED = 'a specifier such as ">=0.1.13.post1,<0.1.17", or a recorded release'


def releases_of(specification: str) -> tuple[str, ...]:
    """The recorded releases that a PEP 440 specifier, or a release by itself, means; oldest first.

    Raises:
        InvalidArgument: it is neither, or no recorded release satisfies it.
    """
    recorded = symbol_releases()
    try:
        text = f"=={Version(specification)}"
    except InvalidVersion:
        text = specification
    try:
        allowed = SpecifierSet(text)
    except InvalidSpecifier as error:
        raise InvalidArgument("aiter", specification, _ALLOWED) from error
    found = tuple(release for release in recorded if allowed.contains(Version(release), prereleases=True))
    if not found:
        raise InvalidArgument("aiter", specification, f"a range with one of {', '.join(recorded)}")
    return found
