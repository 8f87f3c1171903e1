"""A copy of aiter_compat from which records of releases are left out, as if those releases were still to come."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

import aiter_compat
from aiter_compat.releases import recorded_releases
from aiter_compat.releases.symbol_records import symbol_releases


def copy_without(releases_from: str, folder: Path) -> Path:
    """Copy the package into `folder` without the records of a release and of all later ones.

    Returns:
        The folder of the copied package, whose parent goes on the path.
    """
    later = {
        f"{release}.json"
        for release in (*recorded_releases(), *symbol_releases())
        if Version(release) >= Version(releases_from)
    }
    ignored = shutil.ignore_patterns("__pycache__", *later)
    return Path(shutil.copytree(aiter_compat.__path__[0], folder / "aiter_compat", ignore=ignored))


def record_into(package: Path, source: Path, release: str) -> Path:
    """Record a source tree with the command of the copied package, into its own data.

    Returns:
        The file that holds the surface.
    """
    data = package / "releases" / "data"
    command = [sys.executable, "-m", "aiter_compat", "record", str(source), "--as", release, "--output", str(data)]
    path = {"PYTHONPATH": str(package.parent)}
    subprocess.run(command, cwd=package.parent, env=path, check=True, capture_output=True, timeout=300)
    return data / f"{release}.json"
