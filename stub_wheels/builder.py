"""Puts a stub together: its trees, the runtime, what the record says, and the version file."""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version

from aiter_compat.releases import ReleaseRecord, nearest_record, record
from stub_wheels.generated_sources import generated_sources
from stub_wheels.variants import Variant
from stub_wheels.wheel_file import write_wheel

_HERE = Path(__file__).resolve().parent
_TREES = _HERE / "trees"
_RUNTIME = _HERE / "runtime"


def build_wheel(kind: Variant, folder: Path) -> Path:
    """Write the stub wheel of `kind` into `folder` and return its path; the same bytes every time.

    Raises:
        aiter_compat.errors.RecordError: no such release is recorded.
    """
    files = {"aiter/README.txt": "a folder, not a package\n"} if kind.release is None else _package(kind, kind.release)
    return write_wheel(
        folder,
        distribution=kind.distribution,
        version=kind.stated_version,
        summary=f"Stub of AITER {kind.release}: {kind.summary}" if kind.release else kind.summary,
        top_level="aiter\naiter_meta\n" if kind.release else "aiter\n",
        files=files,
    )


def _package(kind: Variant, release_name: str) -> dict[str, str]:
    """Path inside the wheel -> text, of the package that has the surface of a release."""
    release = _exact_record(release_name)
    files: dict[str, str] = {}
    for tree in kind.trees:
        files |= _sources(_TREES / tree)
    files |= {f"aiter/stub_runtime/{path}": text for path, text in _sources(_RUNTIME).items()}
    files |= generated_sources(release.surface)
    files["aiter/_version.py"] = f"__version__ = version = '{kind.stated_version}'\n"
    files["aiter/install_mode"] = "install"
    for package in _packages(files):
        files.setdefault(f"{package}/__init__.py", "")
    return files


def _exact_record(release: str) -> ReleaseRecord:
    """The record of this very release: `record` would take 0.1.14 for its last post."""
    exact = nearest_record(Version(release))
    return exact if exact is not None and exact.release == release else record(release)


def _sources(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}


def _packages(files: dict[str, str]) -> set[str]:
    """Every folder that holds a Python file, and the folders above it."""
    return {parent.as_posix() for path in files if path.endswith(".py") for parent in Path(path).parents if parent.name}
