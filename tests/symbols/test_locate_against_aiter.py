"""The records and `locate` against AITER's real sources, release by release (opt-in: AITER_SOURCE)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aiter_compat as ac
from aiter_compat.recorder import record_symbols
from aiter_compat.releases.symbol_records import symbol_record, symbol_releases
from aiter_compat.symbols.finding import search_in
from aiter_compat.symbols.moves import known_paths

NAMES = json.loads((Path(__file__).parents[1] / "data" / "host_symbols.json").read_text(encoding="utf-8"))
SYMBOLS = sorted({symbol for symbols in NAMES.values() for symbol in symbols})


@pytest.mark.parametrize("release", symbol_releases())
def test_recorded_path_is_where_the_source_has_the_symbol(read_source, release):
    source = read_source(release)
    wrong = {}
    record = symbol_record(release, exact=True)
    for symbol in SYMBOLS:
        found, defined = search_in(symbol, record), source.resolve(symbol)
        located = None if found is None else found.path
        if located is None:
            if defined is not None:
                wrong[symbol] = f"is {defined}, not found"
        elif source.resolve(located) != located:
            wrong[symbol] = f"{located} is not where the source defines it: {source.resolve(located)}"
        elif defined not in (None, located) and located not in known_paths(defined):
            wrong[symbol] = f"{located}, but the source leads to {defined}"
    assert not wrong


@pytest.mark.parametrize("release", symbol_releases())
def test_shipped_record_is_what_the_source_gives(aiter_tree, release):
    shipped = symbol_record(release, exact=True)
    assert record_symbols(aiter_tree(release), release).content == shipped.content


@pytest.mark.parametrize("release", ["0.1.9.post1", "0.1.14.post1", "0.1.20.post1"])
def test_installed_files_and_record_say_the_same(aiter_tree, enter_site, release):
    enter_site(aiter_tree(release))
    said = {symbol: (ac.locate(symbol), ac.locate(symbol, release=release)) for symbol in SYMBOLS}
    assert {symbol: both for symbol, both in said.items() if both[0] != both[1]} == {}
