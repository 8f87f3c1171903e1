"""AITER's own sources of a release that was left out are recorded, and every call fares as with the shipped record."""

from pathlib import Path

import pytest

import aiter_compat
from conformance.checkout import extract
from conformance.left_out import copy_without, record_into
from conformance.runs import faults_in, outcomes_on

pytestmark = pytest.mark.real_aiter

RELEASE = "0.1.20.post1"
FIRST_LEFT_OUT = "0.1.19.post1"


def test_recorded_anew_it_is_what_is_shipped_and_serves_the_same_calls(source, outcomes_of, tmp_path):
    package = copy_without(FIRST_LEFT_OUT, tmp_path / "copy")
    tree = extract(source, f"v{RELEASE}", tmp_path / "source")
    written = record_into(package, tree, RELEASE).read_text(encoding="utf-8")
    shipped = Path(aiter_compat.__path__[0], "releases", "data", f"{RELEASE}.json").read_text(encoding="utf-8")
    # The commit is not known to a source without git metadata.
    assert without_commit(written) == without_commit(shipped)

    outcomes = outcomes_on(source, f"v{RELEASE}", tmp_path / "run", package=package)
    assert faults_in(outcomes) == []
    assert outcomes == outcomes_of(f"v{RELEASE}")


def without_commit(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(' "commit"')]
