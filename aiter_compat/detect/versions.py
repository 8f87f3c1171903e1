"""What a version text of AITER says, and what a person should know about it.

AITER builds are named by setuptools_scm: `0.1.14` on a tag, `0.1.15.dev5+g987203b` five commits later,
`0.1.14.post1+rocm7.2` for wheels, `0.1.14+20260801` for nightlies (their base has lost its `.postN`), two `+` when the
release workflow joined both stamps (not PEP 440), and a fallback number where there was no git history to count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.version import Version

# AITER's pyproject.toml (fallback_version) without git metadata; setuptools' own without any version.
_FALLBACKS = ("0.1.0", "0.0.0")
# The bulk of installations: a final or post release, perhaps with a local part. Recognised without `packaging`, whose
# import would cost a quarter of the time that detection may take; anything else is parsed by it.
_ORDINARY = re.compile(r"\d+(?:\.\d+)+(?:\.post\d+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?")
_NIGHTLY = re.compile(r"20\d{6}(?:\.|$)")


def release_of(text: str) -> Version | None:
    """The version to compare with: no local part; None for a fallback number and for what PEP 440 cannot read."""
    version = _parsed(text)
    return None if version is None or _is_fallback(version) else version


def same_release(one: str, other: str) -> bool:
    """Whether two texts name the same version, local parts left out."""
    if one.partition("+")[0] == other.partition("+")[0]:
        return True
    left, right = _parsed(one), _parsed(other)
    return left is not None and left == right


def remarks_on(text: str) -> list[str]:
    """One sentence for each trait of the version that keeps it from being taken at face value."""
    public, _, local = text.partition("+")
    if _ORDINARY.fullmatch(text):
        remarks = [_fallback_remark(text)] if public in _FALLBACKS else []
        return remarks + ([_local_remark(local)] if local else [])
    version = _parsed(text)
    if version is None:
        return [f"the version {text!r} is not PEP 440: taken as unknown"]
    remarks = []
    if _is_fallback(version):
        remarks.append(_fallback_remark(text))
    elif version.is_devrelease:
        remarks.append(
            f"{text} is a development build: its number names the release that comes next, not what it contains"
        )
    elif version.is_prerelease:
        remarks.append(f"{text} is a release candidate: it may differ from the final release")
    if local:
        remarks.append(_local_remark(local))
    return remarks


def _parsed(text: str) -> Version | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(Version(text).public)
    except InvalidVersion:
        return None


def _is_fallback(version: Version) -> bool:
    # 0.1.devN is setuptools_scm's name for a clone in which no tag can be reached.
    return version.public in _FALLBACKS or (version.is_devrelease and version.release in {(0, 1), (0, 0), (0,)})


def _fallback_remark(text: str) -> str:
    return f"{text} is what a build without git history or tags calls itself: the version is unknown, not old"


def _local_remark(local: str) -> str:
    if _NIGHTLY.match(local):
        return f"the local part +{local} marks a nightly build, whose number leaves out .postN"
    return f"the local part +{local} is left out of comparisons"
