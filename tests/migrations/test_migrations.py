"""Each migration is found, says what changed and where that was read, and agrees with the release records."""

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest
from packaging.version import Version

import aiter_compat
from aiter_compat import migrations
from aiter_compat.checker.release_view import ReleaseView
from aiter_compat.migration_model import SHOWN_BY_RECORDS, Kind, Migration
from aiter_compat.releases.symbol_records import symbol_releases

FOLDER = Path(migrations.__file__).parent
TESTS = Path(__file__).parent
FOUND = migrations.discover()
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
VIEWS = [ReleaseView.of(release) for release in symbol_releases()]

# Kinds of which the records show nothing.
HABITS = {"enum value", "internal API", "probing idiom", "expired workaround"}


def before_and_since(migration: Migration):
    """The releases before the change, and those with it."""
    since = Version(migration.since)
    before = [view for view in VIEWS if view.order() < since]
    return before, [view for view in VIEWS if view.order() >= since]


def finder(symbol):
    """Parameters of the symbol in a release; none where it has no such symbol."""
    return lambda view: getattr(view.find(symbol), "parameters", ())


def parameter_names(view, symbol):
    return [parameter.name for parameter in view.find(symbol).parameters]


def test_every_file_is_found_and_nothing_else():
    assert sorted(migration.name for migration in FOUND) == FILES
    assert FILES


def test_every_test_has_a_migration():
    named = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}
    assert named - {"migrations", "known_changes"} == set(FILES)


def test_every_kind_of_change_has_a_migration():
    assert {migration.kind for migration in FOUND} == set(get_args(Kind))


def test_they_come_in_the_order_of_the_releases():
    order = [(Version(migration.since), migration.name) for migration in FOUND]
    assert order == sorted(order)


@pytest.mark.parametrize("migration", FOUND, ids=lambda migration: migration.name)
class TestEach:
    def test_it_says_what_changed_and_where_that_was_read(self, migration):
        assert migration.summary.endswith(".")
        assert len(migration.summary) <= 120
        assert migration.remedy.endswith(".")
        assert "aiter_compat" in migration.remedy or migration.kind == "enum value"
        assert re.match(r"ROCm/aiter( v\d|#\d)", migration.source)
        assert f"v{migration.since}" in migration.source or "#" in migration.source
        assert migration.symbol.partition(".")[0] == "aiter"
        assert migration.until is None or Version(migration.until) > Version(migration.since)

    def test_the_docstring_names_the_tag(self, migration):
        text = (FOLDER / f"{migration.name}.py").read_text(encoding="utf-8")
        docstring = text.split('"""')[1]
        assert docstring.splitlines()[0] == migration.summary
        assert re.search(r"v\d+\.\d+\.\d+", docstring)

    def test_it_agrees_with_the_records(self, migration):
        before, after = before_and_since(migration)
        symbol, detail = migration.symbol, migration.detail
        assert after, "no record with the change"
        if migration.kind in ("moved symbol", "renamed symbol"):
            assert before[-1].has(symbol)
            assert not any(view.has(detail) for view in before)
            assert all(view.has(detail) for view in after)
            found = after[0].find(symbol)  # the old place may still import it
            assert found is None or found.path != symbol
        elif migration.kind == "removed symbol":
            assert before[-1].has(symbol)
            assert not any(view.has(symbol) for view in after)
        elif migration.kind == "new keyword":
            assert not any(view.takes(symbol, detail) for view in before)
            assert all(view.takes(symbol, detail) for view in after)
        elif migration.kind == "removed keyword":
            assert before[-1].takes(symbol, detail)
            assert not any(view.takes(symbol, detail) for view in after)
        elif migration.kind == "enum member":
            assert not any(view.has(f"{symbol}.{detail}") for view in before if view.find(symbol).members)
            assert all(view.has(f"{symbol}.{detail}") for view in after)
        elif migration.kind == "changed default":
            defaults = [
                {one.default for found in map(finder(symbol), side) for one in found if one.name == detail}
                for side in (before, after)
            ]
            assert all(defaults)
            assert not defaults[0] & defaults[1]
        elif migration.kind == "positional order":
            places = [
                {
                    parameter_names(view, symbol).index(detail)
                    for view in side
                    if detail in parameter_names(view, symbol)
                }
                for side in (before, after)
            ]
            assert all(places)
            assert not places[0] & places[1]
        elif migration.kind == "host to shim":
            assert all(view.find(symbol).path == symbol for view in after)
            assert detail in aiter_compat.__all__
        elif migration.kind in ("changed meaning", "return shape"):
            assert all(view.has(symbol) for view in (*before[-1:], after[0]))
        else:
            assert migration.kind in HABITS

    def test_what_no_record_shows_has_a_rule_of_its_own(self, migration):
        shown = migration.kind in SHOWN_BY_RECORDS or migration.kind == "host to shim"
        assert migration.matches is not None or shown

    def test_it_has_a_test_of_its_own(self, migration):
        text = (TESTS / f"test_{migration.name}.py").read_text(encoding="utf-8")
        assert text.count("def test_") >= 2  # a host that meets it, and one that does not

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
    assert (named.name, named.summary, named.code) == ("a_change", "What changed.", "a-change")
    assert named.sort_key() == (Version("0.1.14"), "a_change")


def test_the_documented_list_is_what_discovery_finds():
    text = (TESTS.parents[1] / "docs" / "migrations.md").read_text(encoding="utf-8")
    rows = [line for line in text.partition("## The rules")[2].splitlines() if line.startswith("| `")]
    assert rows == [f"| `{one.code}` | {one.kind} | v{one.since} | {one.summary} |" for one in FOUND]
