"""Hosts of a few lines against the one migration that a test file is named after."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from aiter_compat import migrations
from aiter_compat.checker.check import check
from aiter_compat.checker.specification import releases_of
from aiter_compat.hostscan import scan
from aiter_compat.migration_model import Migration


@pytest.fixture
def migration(request) -> Migration:
    """The migration in the file of the same name."""
    name = request.path.stem.removeprefix("test_")
    return next(one for one in migrations.discover() if one.name == name)


@pytest.fixture
def met(migration, tmp_path: Path) -> Callable[[str, str], list[int]]:
    """Lines of a host at which `check` speaks of the migration, for these releases."""

    def lines(source: str, releases: str) -> list[int]:
        path = tmp_path / "host.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        found = check(scan(str(path)), releases_of(releases), migrations.discover())
        if migration.matches is not None:
            return [one.line for one in found if one.code == migration.code]
        return [one.line for one in found if one.remedy == migration.remedy]

    return lines


@pytest.fixture
def rewritten(migration) -> Callable[..., str]:
    """A host after `migrate` with this rule alone: to the shim, or to a range of releases."""
    pytest.importorskip("libcst", reason="the extra migrate is not installed")
    from aiter_compat.migrate.engine import rewrite
    from aiter_compat.migrate.outcome import Rewritten
    from aiter_compat.migrate.plan import PathPlan, ShimPlan

    def text(source: str, releases: str | None = None) -> str:
        everything = migrations.discover()
        if releases is None:
            plan = ShimPlan.of(everything, only=[migration.code])
        else:
            plan = PathPlan.of(releases_of(releases), everything, only=[migration.code])
        outcome = rewrite(source.encode(), "host.py", plan)
        if isinstance(outcome, Rewritten):
            assert outcome.rules == (migration.code,)
            assert not isinstance(rewrite(outcome.after, "host.py", plan), Rewritten)
            return outcome.after.decode()
        return source

    return text
