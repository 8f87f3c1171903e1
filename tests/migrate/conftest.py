"""Rewriting texts in memory; all of it needs LibCST."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from aiter_compat import migrations
from aiter_compat.checker.specification import releases_of


@pytest.fixture
def plan_for() -> Callable[[str], object]:
    """The plan for "shim", or for a range of releases."""
    pytest.importorskip("libcst", reason="the extra migrate is not installed")
    from aiter_compat.migrate.plan import PathPlan, ShimPlan

    def plan(target: str) -> object:
        if target == "shim":
            return ShimPlan.of(migrations.discover())
        return PathPlan.of(releases_of(target), migrations.discover())

    return plan


@pytest.fixture
def rewritten(plan_for) -> Callable[..., object]:
    """The outcome for a file's bytes."""
    from aiter_compat.migrate.engine import rewrite

    return lambda content, target="shim": rewrite(content, "host.py", plan_for(target))


@pytest.fixture
def outcome(rewritten) -> Callable[..., object]:
    """The outcome for a text."""
    return lambda source, target="shim": rewritten(textwrap.dedent(source).encode(), target)


@pytest.fixture
def transformed(outcome) -> Callable[..., object]:
    """Checks that a source becomes another one and stays that when rewritten again; gives the outcome."""
    from aiter_compat.migrate.outcome import Rewritten

    def check(before: str, after: str, target: str = "shim") -> object:
        found = outcome(before, target)
        assert isinstance(found, Rewritten), found
        assert found.after.decode() == textwrap.dedent(after)
        assert not isinstance(outcome(after, target), Rewritten)
        return found

    return check


@pytest.fixture
def left(outcome) -> Callable[..., list[str]]:
    """Checks that a source is not changed, and gives the reasons."""
    from aiter_compat.migrate.outcome import Rewritten

    def check(source: str, target: str = "shim") -> list[str]:
        found = outcome(source, target)
        assert not isinstance(found, Rewritten), found.after.decode()
        return [note.reason for note in found.notes]

    return check
