"""A half-open range of AITER releases, for facts that hold from one release until another.

How the versions that people really run are placed (`Version.public` is compared, so `+rocm7.2` never matters):

* A release candidate counts as its final release: it is cut from the release branch and has its features
  (v0.1.14-rc0 has v0.1.14's `gate_mode`, v0.1.17-rc0 v0.1.17's optional `swiglu_limit`), although PEP 440 sorts it
  before.
* A development build keeps PEP 440's order. setuptools_scm names it after the release that comes next, so
  0.1.15.dev5 is five commits after v0.1.14: it is at least 0.1.14 and not yet 0.1.15.
* A post release is later than its base: 0.1.15.post3 lies in a range since 0.1.15.post3 and beyond one until it.
  A nightly (`0.1.15+20260801`) hides its post number and is taken for the base, which claims less than it may have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiter_compat.errors import InvalidArgument

if TYPE_CHECKING:
    from packaging.version import Version


@dataclass(frozen=True)
class ReleaseRange:
    """The releases from `since` (included) until `until` (excluded).

    Attributes:
        since: first release, such as "0.1.14"; None for the beginning.
        until: first release that is no longer in the range; None for an open end.

    Raises:
        InvalidArgument: a bound is not a PEP 440 version, or the range is empty.
    """

    since: str | None = None
    until: str | None = None

    def __post_init__(self) -> None:
        since, until = _bound("since", self.since), _bound("until", self.until)
        if since is not None and until is not None and since >= until:
            raise InvalidArgument("until", self.until, f"a release after since={self.since}")

    def contains(self, version: Version) -> bool:
        """Whether `version` lies in the range; the module's docstring says how dev, rc and local ones are placed."""
        placed = _placed(version)
        since, until = _bound("since", self.since), _bound("until", self.until)
        return (since is None or since <= placed) and (until is None or placed < until)

    def __str__(self) -> str:
        if self.since is None and self.until is None:
            return "every release"
        if self.until is None:
            return f"since {self.since}"
        if self.since is None:
            return f"until {self.until}"
        return f"since {self.since}, until {self.until}"


def _placed(version: Version) -> Version:
    from packaging.version import Version

    return Version(version.base_version if version.is_prerelease and version.pre is not None else version.public)


def _bound(name: str, text: str | None) -> Version | None:
    if text is None:
        return None
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion as error:
        raise InvalidArgument(name, text, "a release such as 0.1.15.post3, or None") from error
