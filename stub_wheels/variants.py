"""Which stubs there are: every recorded release as it works with ROCm, and the ways a release fails without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """One stub wheel.

    Attributes:
        name: what the command line calls it.
        release: recorded AITER release whose surface it has.
        trees: folders below `stub_wheels/trees` that make up the package, later ones overwriting earlier ones.
        summary: what it does, for a person.
    """

    name: str
    release: str
    trees: tuple[str, ...]
    summary: str


_LOUD_IMPORT = ("common", "rocm_present", "loud_import")

VARIANTS: dict[str, Variant] = {
    kind.name: kind
    for kind in (
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
    )
}


def variant(name: str) -> Variant:
    """The variant of this name; any other name is taken for a release that works."""
    known = VARIANTS.get(name)
    return known or Variant(name, name, _LOUD_IMPORT, f"release {name} on a machine with ROCm")
