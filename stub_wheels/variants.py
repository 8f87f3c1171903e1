"""Which stubs there are: every recorded release as it works with ROCm, and the ways an installation goes wrong."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from aiter_compat.releases import ReleaseRange


@dataclass(frozen=True)
class Variant:
    """One stub wheel.

    Attributes:
        name: what the command line calls it.
        release: recorded AITER release whose surface it has; None: it has no AITER in it.
        trees: folders below `stub_wheels/trees` that make up the package, later ones overwriting earlier ones.
        summary: what it does, for a person.
        version: version of the distribution, where it is not the release.
    """

    name: str
    release: str | None
    trees: tuple[str, ...]
    summary: str
    version: str | None = None

    @property
    def distribution(self) -> str:
        """Name of the distribution."""
        return "stray-folder" if self.release is None else "amd-aiter"

    @property
    def stated_version(self) -> str:
        """Version of the distribution."""
        return self.version or self.release or "0"


_LOUD_IMPORT = ("common", "rocm_present", "loud_import")
_GUARDED_IMPORT = ("common", "rocm_present", "guarded_import")
_GUARDED_RELEASES = (ReleaseRange("0.1.12", "0.1.13"), ReleaseRange("0.1.14", "0.1.15"))
"""Releases whose aiter/__init__.py swallows a failure; the others let it through (aiter/__init__.py at each tag)."""

VARIANTS: dict[str, Variant] = {
    kind.name: kind
    for kind in (
        Variant(
            "denies",
            "0.1.15.post3",
            _LOUD_IMPORT,
            "a development build whose number denies the gate_mode it has, as a checkout without new tags says",
            version="0.1.13.post2.dev7+g1a2b3c4",
        ),
        Variant(
            "claims",
            "0.1.13.post1",
            _LOUD_IMPORT,
            "a development build whose number claims a gate_mode it lacks, as a branch off an old release says",
            version="0.1.15.dev3+g5d6e7f8",
        ),
        Variant(
            "broken",
            "0.1.15.post3",
            ("common", "rocm_missing", "loud_import"),
            "import raises RuntimeError, as every release with a loud import does without ROCm",
        ),
        Variant(
            "incompatible",
            "0.1.15.post3",
            (*_LOUD_IMPORT, "operators_clash"),
            "import raises ValueError at operator registration, as releases up to 0.1.19.post2 do beside torch 2.13",
        ),
        Variant(
            "truncated",
            "0.1.14",
            ("common", "rocm_missing", "guarded_import"),
            "import works and defines next to nothing, as 0.1.14 does without ROCm",
        ),
        Variant(
            "keyerror",
            "0.1.15.post3",
            (*_LOUD_IMPORT, "architecture_unknown"),
            "import raises KeyError('gfx1151'), as on a GPU that the release does not know (ROCm/aiter#1498)",
        ),
        Variant(
            "exits",
            "0.1.15.post3",
            (*_LOUD_IMPORT, "architecture_exits"),
            "import calls sys.exit, as a build helper does that takes itself for a command",
        ),
        Variant("namespace", None, (), "a bare folder called aiter, as the parent of a checkout is on the path"),
    )
}


def variant(name: str) -> Variant:
    """The variant of this name; any other name is taken for a release that works."""
    known = VARIANTS.get(name)
    if known is not None:
        return known
    trees = _GUARDED_IMPORT if _guarded(name) else _LOUD_IMPORT
    return Variant(name, name, trees, f"release {name} on a machine with ROCm")


def _guarded(release: str) -> bool:
    try:
        version = Version(release)
    except InvalidVersion:
        return False  # the builder says that there is no such release
    return any(span.contains(version) for span in _GUARDED_RELEASES)
