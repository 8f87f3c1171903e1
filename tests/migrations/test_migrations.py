"""Each migration is found, says what changed and where that was read, and agrees with the release records."""

import importlib
import re
from pathlib import Path

import pytest
from packaging.version import Version

from aiter_compat import migrations
from aiter_compat.migration_model import Migration
from aiter_compat.releases import nearest_record, recorded_releases

FOLDER = Path(migrations.__file__).parent
FOUND = migrations.discover()
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")

# Every kind must be checked against the records here, so that a new one cannot slip in unchecked.
CHECKED = {"moved symbol", "new keyword", "changed default", "positional order", "enum member", "changed meaning"}


def before_and_since(migration: Migration):
    """Surfaces of the releases before the change, and of those with it."""
    since = Version(migration.since)
    surfaces = {release: nearest_record(Version(release)).surface for release in recorded_releases()}
    before = [surface for release, surface in surfaces.items() if Version(release) < since]
    after = [surface for release, surface in surfaces.items() if Version(release) >= since]
    return before, after


def test_every_file_is_found_and_nothing_else():
    assert sorted(migration.name for migration in FOUND) == FILES
    assert FILES


def test_they_come_in_the_order_of_the_releases():
    order = [(Version(migration.since), migration.name) for migration in FOUND]
    assert order == sorted(order)


@pytest.mark.parametrize("migration", FOUND, ids=lambda migration: migration.name)
class TestEach:
    def test_it_says_what_changed_and_where_that_was_read(self, migration):
        assert migration.kind in CHECKED
        assert migration.summary.endswith(".")
        assert len(migration.summary) <= 120
        assert migration.remedy.endswith(".")
        assert "aiter_compat" in migration.remedy
        assert re.match(r"ROCm/aiter (v\d|#\d)", migration.source)
        assert f"v{migration.since}" in migration.source or "#" in migration.source
        assert migration.symbol.startswith("aiter.")

    def test_the_docstring_names_the_tag(self, migration):
        text = (FOLDER / f"{migration.name}.py").read_text(encoding="utf-8")
        docstring = text.split('"""')[1]
        assert docstring.splitlines()[0] == migration.summary
        assert re.search(r"v\d+\.\d+\.\d+", docstring)

    def test_it_agrees_with_the_records(self, migration):
        before, after = before_and_since(migration)
        assert before, "no record from before the change"
        assert after, "no record with the change"
        if migration.kind == "moved symbol":
            assert migration.detail != migration.symbol
            assert all(surface.has(migration.symbol) for surface in before)
            assert not any(surface.has(migration.detail) for surface in before)
            assert all(surface.has(migration.detail) for surface in after)
            assert not after[0].has(migration.symbol)
        elif migration.kind == "new keyword":
            assert all(surface.parameters(migration.symbol) for surface in before)
            assert not any(surface.parameter(migration.symbol, migration.detail) for surface in before)
            assert all(surface.parameter(migration.symbol, migration.detail) for surface in after)
        elif migration.kind == "enum member":
            assert not any(migration.detail in surface.members(migration.symbol) for surface in before)
            assert all(migration.detail in surface.members(migration.symbol) for surface in after)
        elif migration.kind == "changed default":
            defaults = [
                {surface.parameter(migration.symbol, migration.detail).default for surface in side}
                for side in (before, after)
                if all(surface.parameter(migration.symbol, migration.detail) for surface in side)
            ]
            assert len(defaults) == 2
            assert not defaults[0] & defaults[1]
        elif migration.kind == "positional order":
            places = [
                {[p.name for p in surface.parameters(migration.symbol)].index(migration.detail) for surface in side}
                for side in (before, after)
            ]
            assert not places[0] & places[1]
        else:  # a changed meaning shows in no signature: the symbol must at least be there on both sides
            assert before[-1].has(migration.symbol)
            assert after[0].has(migration.symbol)

    def test_name_and_summary_come_from_the_file(self, migration):
        held = importlib.import_module(f"aiter_compat.migrations.{migration.name}").MIGRATION
        assert held.named(migration.name, migration.summary) == migration
        assert (held.name, held.summary) == ("", "")


def test_the_changes_that_break_hosts_between_0_1_13_and_0_1_15_are_there():
    changes = {(migration.kind, migration.symbol, migration.since) for migration in FOUND}
    fused_moe = "aiter.fused_moe.fused_moe"
    assert ("new keyword", fused_moe, "0.1.14") in changes
    assert any(kind == "moved symbol" and symbol.endswith("GateMode") for kind, symbol, _ in changes)
    assert {migration.detail for migration in FOUND if migration.symbol == fused_moe} >= {"gate_mode", "swiglu_limit"}


def test_named_takes_the_first_line_of_the_docstring():
    migration = Migration("new keyword", "aiter.f", "0.1.14", "Do.", "ROCm/aiter v0.1.14")
    named = migration.named("a_change", "\nWhat changed.\n\nMore.\n")
    assert (named.name, named.summary) == ("a_change", "What changed.")
    assert named.sort_key() == (Version("0.1.14"), "a_change")
