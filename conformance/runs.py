"""Run the witness on releases taken from a checkout, and read what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

import aiter_compat
from aiter_compat.quirks.support_rows import OLDEST_TESTED
from aiter_compat.releases import recorded_releases
from conformance.checkout import extract
from conformance.fakes.machine import install_rocm_tools

SOURCE = "AITER_SOURCE"
"""Environment variable that names the checkout, or git directory, with AITER's tags."""

_HERE = Path(__file__).parent
_ROOT = _HERE.parent


@dataclass(frozen=True)
class Outcome:
    """What became of one call on one release.

    Attributes:
        kind: kind of the call.
        outcome: "served", "refused" (by aiter_compat, before AITER) or "failed" (an error of any other kind).
        reasons: of a refusal.
        faults: what must not be: an argument lost or changed, a refusal of what the release can express, an error.
    """

    kind: str
    outcome: str
    reasons: tuple[str, ...]
    faults: tuple[str, ...]


def tags() -> tuple[str, ...]:
    """Tag of every recorded release that is supported, in the order of PEP 440."""
    return tuple(f"v{release}" for release in recorded_releases() if not _too_old(release))


def older_tags() -> tuple[str, ...]:
    """Tag of every recorded release that is older than that, in the order of PEP 440."""
    return tuple(f"v{release}" for release in recorded_releases() if _too_old(release))


def _too_old(release: str) -> bool:
    return Version(release) < Version(OLDEST_TESTED)


def outcomes_on(source: Path, tag: str, folder: Path, *, package: Path | None = None) -> list[Outcome]:
    """Make every call on the release of this tag.

    Args:
        source: checkout or git directory.
        tag: tag of the release.
        folder: where its tree and the faked machine may be put; made when missing.
        package: folder of the aiter_compat to make them through; None: the one that is imported here.

    Raises:
        AssertionError: the process did not come to its end, or another release was found than that of the tag.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tree, results = extract(source, tag, folder), folder / "results.json"
    command = [sys.executable, "-m", "conformance.witness", str(tree), str(results)]
    done = subprocess.run(
        command, env=_environment(folder, package), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{tag}: {done.stdout}{done.stderr}"
    told = json.loads(results.read_text(encoding="utf-8"))
    assert tag.removeprefix("v") in told["installation"], told["installation"]
    return [
        Outcome(one["kind"], one["outcome"], tuple(one["reasons"]), tuple(one["faults"])) for one in told["outcomes"]
    ]


def faults_in(outcomes: Sequence[Outcome]) -> list[str]:
    """One line for each fault."""
    return [f"{one.kind} ({one.outcome}): {'; '.join(one.faults)}" for one in outcomes if one.faults]


def _environment(folder: Path, package: Path | None) -> dict[str, str]:
    """The caller's environment without what steers AITER, with the fakes where AITER looks for the real things."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AITER_", "GPU_", "ROCM_"))}
    found = (package or Path(aiter_compat.__path__[0])).parent
    return kept | {
        **install_rocm_tools(folder / "rocm"),
        "AITER_JIT_DIR": str(_HERE / "fakes" / "compiled_modules"),
        "HOME": str(folder),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys((str(found), str(_ROOT)))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
