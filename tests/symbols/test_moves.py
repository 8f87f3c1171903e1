"""Moves are followed in both directions, and the table of them says what the records say."""

from __future__ import annotations

import itertools

import pytest
from packaging.version import Version

from aiter_compat.releases.symbol_records import symbol_record, symbol_releases
from aiter_compat.symbols import moves as moves_module
from aiter_compat.symbols.moves import Move, known_paths, moves

TABLE = (
    Move("aiter.b.f", "aiter.c.f", "0.3", "x"),
    Move("aiter.a", "aiter.b", "0.2", "x"),
    Move("aiter.pack", "aiter.pack.pack", "0.2", "x"),
    Move("aiter.one.g", "aiter.all.g", "0.1", "x"),
    Move("aiter.two.g", "aiter.all.g", "0.1", "x"),
)


@pytest.fixture
def with_table(monkeypatch):
    """Puts another table in place of the shipped one."""

    def use(table: tuple[Move, ...]) -> None:
        monkeypatch.setattr(moves_module, "moves", lambda: table)
        known_paths.cache_clear()

    yield use
    known_paths.cache_clear()


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("aiter.untouched", ("aiter.untouched",)),
        ("aiter.a.f", ("aiter.c.f", "aiter.b.f", "aiter.a.f")),
        ("aiter.b.f", ("aiter.c.f", "aiter.b.f", "aiter.a.f")),
        ("aiter.c.f", ("aiter.c.f", "aiter.b.f", "aiter.a.f")),
        ("aiter.a.other", ("aiter.b.other", "aiter.a.other")),
        ("aiter.a", ("aiter.b", "aiter.a")),
        ("aiter.ab", ("aiter.ab",)),  # not below aiter.a
        ("aiter.pack", ("aiter.pack",)),  # the package stays where the module was
        ("aiter.pack.h", ("aiter.pack.pack.h", "aiter.pack.h")),
        ("aiter.pack.pack.h", ("aiter.pack.pack.h", "aiter.pack.h")),
        ("aiter.one.g", ("aiter.all.g", "aiter.one.g", "aiter.two.g")),
    ],
)
def test_every_path_the_newest_first(with_table, path, known):
    with_table(TABLE)
    assert known_paths(path) == known


def test_rings_end(with_table):
    with_table((Move("aiter.a", "aiter.b", "0.2", "x"), Move("aiter.b", "aiter.a", "0.1", "x")))
    assert set(known_paths("aiter.a")) == {"aiter.a", "aiter.b"}


# --- the shipped table -------------------------------------------------------------------------------------------


def test_rows_are_sourced_and_each_is_there_once():
    table = moves()
    assert len({(move.old, move.new) for move in table}) == len(table)
    assert [move for move in table if not move.source or move.old == move.new] == []
    versions = [Version(move.since) for move in table]
    assert versions == sorted(versions, reverse=True)
    assert {move.since for move in table} <= set(symbol_releases())


def test_new_path_is_there_from_its_release_on_and_not_before():
    releases = symbol_releases()
    wrong = []
    for move in moves():
        at = releases.index(move.since)
        found = symbol_record(move.since, exact=True).find(move.new)
        before = symbol_record(releases[at - 1], exact=True)
        is_alias = "__init__.py" in move.source and "records" not in move.source
        if found is None or found.path != move.new or not (is_alias or before.find(move.new) is None):
            wrong.append(move)
    assert wrong == []


def test_old_path_was_there_until_then_or_is_a_name_that_aiter_itself_redirects():
    releases = symbol_releases()
    for move in moves():
        before = symbol_record(releases[releases.index(move.since) - 1], exact=True)
        redirected = symbol_record(move.since, exact=True).find(move.old)
        assert before.find(move.old) is not None or redirected.path == move.new, move


@pytest.mark.parametrize("release", symbol_releases())
def test_aiters_own_map_of_old_names_is_covered(release):
    record = symbol_record(release, exact=True)
    names = record.names("aiter.ops.triton")
    for name, new in names.lazy.items() if names else ():
        if record.has_module(new):
            assert new in known_paths(f"aiter.ops.triton.{name}"), (name, new)


def test_no_two_rows_send_one_path_to_different_places_at_once():
    for one, other in itertools.combinations(moves(), 2):
        assert (one.old, one.since) != (other.old, other.since)
