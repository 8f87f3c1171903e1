"""Ranges of releases: where dev, rc, post and local versions fall."""

from __future__ import annotations

import pytest
from packaging.version import Version

from aiter_compat.errors import InvalidArgument
from aiter_compat.releases import ReleaseRange


@pytest.mark.parametrize(
    ("since", "until", "version", "inside"),
    [
        # bounds
        ("0.1.14", "0.1.16", "0.1.14", True),
        ("0.1.14", "0.1.16", "0.1.16", False),
        ("0.1.14", "0.1.16", "0.1.13.post1", False),
        ("0.1.9", "0.1.10", "0.1.10", False),
        ("0.1.9", None, "0.1.20", True),
        (None, "0.1.14", "0.1.13.post1", True),
        (None, None, "0.1.0.dev1", True),
        # post releases are later than their base
        ("0.1.15", None, "0.1.15.post3", True),
        (None, "0.1.15", "0.1.15.post3", False),
        ("0.1.15.post3", None, "0.1.15.post2", False),
        (None, "0.1.15.post3", "0.1.15.post2", True),
        (None, "0.1.15.post3", "0.1.15.post3", False),
        # local parts never matter
        (None, "0.1.15", "0.1.15+rocm7.2", False),
        ("0.1.15", None, "0.1.15+rocm7.2", True),
        ("0.1.15.post3", None, "0.1.15.post3+rocm7.2.1", True),
        # a nightly hides its post number and is taken for the base
        ("0.1.15.post3", None, "0.1.15+20260801", False),
        # setuptools_scm names a build after the release that comes next
        ("0.1.14", None, "0.1.15.dev5+g987203b", True),
        ("0.1.15", None, "0.1.15.dev5+g987203b", False),
        (None, "0.1.15", "0.1.15.dev5+g987203b", True),
        ("0.1.16.post2", None, "0.1.16.post3.dev1", True),
        ("0.1.16.post3", None, "0.1.16.post3.dev1", False),
        # a release candidate has what its release has
        ("0.1.14", None, "0.1.14rc0", True),
        (None, "0.1.14", "0.1.14-rc0", False),
        ("0.1.14", None, "0.1.14rc1.dev3", True),
        ("0.1.15", None, "0.1.14rc0", False),
    ],
)
def test_contains(since, until, version, inside):
    assert ReleaseRange(since, until).contains(Version(version)) is inside


@pytest.mark.parametrize(
    ("since", "until", "argument"),
    [
        ("zero", None, "since"),
        (None, "0.1.14+a+b", "until"),
        ("0.1.15", "0.1.15", "until"),
        ("0.1.15", "0.1.2", "until"),
    ],
)
def test_bounds_that_make_no_range_are_refused(since, until, argument):
    with pytest.raises(InvalidArgument) as caught:
        ReleaseRange(since, until)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("since", "until", "text"),
    [
        (None, None, "every release"),
        ("0.1.14", None, "since 0.1.14"),
        (None, "0.1.14", "until 0.1.14"),
        ("0.1.14", "0.1.16", "since 0.1.14, until 0.1.16"),
    ],
)
def test_text(since, until, text):
    assert str(ReleaseRange(since, until)) == text
