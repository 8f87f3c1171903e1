"""These tests run AITER's own code, when asked for by name: `AITER_SOURCE=… pytest -m real_aiter`."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.runs import SOURCE, Outcome, outcomes_on


def pytest_collection_modifyitems(config, items):
    """Skip where no source is named, and where a plain run merely came across these tests."""
    if "real_aiter" not in config.option.markexpr:
        reason = "runs AITER's own code: asked for with -m real_aiter"
    elif not os.environ.get(SOURCE):
        reason = f"{SOURCE} names no checkout of ROCm/aiter with tags"
    else:
        return
    for item in items:
        if item.get_closest_marker("real_aiter") is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def source() -> Path:
    return Path(os.environ[SOURCE]).resolve()


@pytest.fixture(scope="session")
def outcomes_of(source, tmp_path_factory) -> Callable[[str], list[Outcome]]:
    """What became of every call on the release of a tag; each release is run once."""
    known: dict[str, list[Outcome]] = {}

    def run(tag: str) -> list[Outcome]:
        if tag not in known:
            known[tag] = outcomes_on(source, tag, tmp_path_factory.mktemp("release"))
        return known[tag]

    return run
