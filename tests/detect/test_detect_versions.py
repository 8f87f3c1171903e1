"""Version texts: what is comparable, and what a person is told."""

from __future__ import annotations

import pytest
from packaging.version import Version

from aiter_compat.detect.versions import release_of, remarks_on, same_release


@pytest.mark.parametrize("text", ["0.1.14", "0.1.15.post3", "0.1.20.post1"])
def test_ordinary_release_needs_no_remark(text):
    assert remarks_on(text) == []
    assert release_of(text) == Version(text)


@pytest.mark.parametrize("text", ["0.1.0", "0.1.0+g1234567", "0.0.0", "0.1.dev3", "0.1.dev3+gabc.d20260101"])
def test_fallback_numbers_are_unknown(text):
    assert release_of(text) is None
    assert "unknown" in remarks_on(text)[0]


@pytest.mark.parametrize("text", ["0.1.1", "0.1.10", "0.1.1.dev2", "0.1.0.post1"])
def test_neighbours_of_the_fallback_numbers_are_versions(text):
    assert release_of(text) == Version(text)


@pytest.mark.parametrize("text", ["", "unknown", "0.1.14+a+b", "0.1.17-longctx"])
def test_unreadable_text_is_unknown_and_raises_nothing(text):
    assert release_of(text) is None
    assert remarks_on(text)[0].startswith("the version")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.1.14", "0.1.14+rocm7.2", True),
        ("0.1.14rc0", "0.1.14-rc0", True),
        ("0.1.14", "0.1.14.post1", False),
        ("x+1", "x+2", True),
        ("x", "y", False),
    ],
)
def test_same_release_ignores_spelling_and_local_part(one, other, same):
    assert same_release(one, other) is same
