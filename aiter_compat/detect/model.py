"""What is installed under the name `aiter`, as a value.

A named tuple, as all small values of this package are: importing `dataclasses` costs as much as detection may take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from aiter_compat.detect.versions import release_of

if TYPE_CHECKING:
    from packaging.version import Version

Kind = Literal["absent", "foreign", "namespace", "present"]

FROM_METADATA = "distribution metadata"
FROM_VERSION_FILE = "aiter/_version.py"


class Installation(NamedTuple):
    """What `import aiter` would find, learnt without importing or executing anything.

    Attributes:
        kind: "absent" (`import aiter` would raise ModuleNotFoundError), "foreign" (another package of that name),
            "namespace" (a bare folder, which imports as an empty namespace package) or "present" (AMD's AITER).
        version: the version as it was written down, local part included; None when nothing states it. For a foreign
            package it is that package's own, which compares with no release of AITER.
        source: what states the version: "distribution metadata" or "aiter/_version.py"; None when nothing does.
        location: folder of the package, or the path inside a zip archive (`/x/site.zip/aiter`); None when absent.
        distribution: name of the distribution that the files belong to; None when no metadata claims them.
        editable: the files are a working copy that was installed in place.
        imported: the host process has already imported it.
        warnings: one sentence for each thing that a person should know before relying on the rest.
    """

    kind: Kind
    version: str | None = None
    source: str | None = None
    location: str | None = None
    distribution: str | None = None
    editable: bool = False
    imported: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def release(self) -> Version | None:
        """The version to compare with, its local part (`+rocm7.2`, `+g987203b`) left out. Never raises.

        None when this is not AITER, and when the version is unknown: nothing states it, PEP 440 cannot read it, or it
        is the fallback number (`0.1.0`, `0.1.devN`) of a build without git history.
        """
        return release_of(self.version) if self.kind == "present" and self.version is not None else None

    def as_dict(self) -> dict[str, str | bool | list[str] | None]:
        """Plain values, ready for JSON; `release` is included as text."""
        release = self.release
        return {
            "kind": self.kind,
            "version": self.version,
            "release": None if release is None else str(release),
            "source": self.source,
            "location": self.location,
            "distribution": self.distribution,
            "editable": self.editable,
            "imported": self.imported,
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        if self.kind == "absent":
            text = "AITER is not installed"
        elif self.kind == "namespace":
            text = f"a bare folder called aiter, not AITER, at {self.location}"
        elif self.kind == "foreign":
            name = self.distribution or "a package"
            text = (
                f"another package called aiter, not AITER: {name} {self.version or ''}".rstrip()
                + f" at {self.location}"
            )
        else:
            version = f"{self.version} (from {self.source})" if self.version else "of unknown version"
            text = f"AITER {version} at {self.location}"
            marks = [mark for mark, holds in (("editable", self.editable), ("imported", self.imported)) if holds]
            if marks:
                text += f" [{', '.join(marks)}]"
        return f"{text}; {len(self.warnings)} warning(s)" if self.warnings else text
