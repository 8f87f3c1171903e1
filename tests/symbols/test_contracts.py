"""The list of changed contracts says what the records say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.version import Version

from aiter_compat.probe.signatures import breaks_shortest_call
from aiter_compat.releases.symbol_records import symbol_record, symbol_releases
from aiter_compat.symbols.contracts import contract_change, contract_changes
from aiter_compat.symbols.finding import search_in

SERVED = [release for release in symbol_releases() if Version(release) >= Version("0.1.13")]
HOST_SYMBOLS = json.loads((Path(__file__).parents[1] / "data" / "host_symbols.json").read_text(encoding="utf-8"))


def broken_with(symbol: str) -> tuple[str, ...]:
    """Releases with which even the shortest call of the symbol broke, among those that this package serves."""
    found = []
    known = None
    for release in SERVED:
        one = search_in(symbol, symbol_record(release, exact=True))
        if one is None or one.parameters is None:
            continue
        if known is not None and breaks_shortest_call(known.parameters, one.parameters):
            found.append(release)
        known = one
    return tuple(found)


@pytest.mark.parametrize("change", contract_changes(), ids=lambda change: change.symbol)
def test_each_listed_release_changed_what_must_be_passed(change):
    releases = symbol_releases()
    assert change.what
    assert change.source
    for since in change.since:
        assert since in SERVED[1:]
        before = search_in(change.symbol, symbol_record(releases[releases.index(since) - 1], exact=True))
        after = search_in(change.symbol, symbol_record(since, exact=True))
        assert breaks_shortest_call(before.parameters, after.parameters), since


@pytest.mark.parametrize("change", contract_changes(), ids=lambda change: change.symbol)
def test_no_change_of_a_listed_symbol_is_missing(change):
    assert broken_with(change.symbol) == change.since


def test_every_change_that_vllm_and_sglang_can_meet_is_listed():
    newest = symbol_record(symbol_releases()[-1])
    missing = {}
    for symbol in sorted({symbol for symbols in HOST_SYMBOLS.values() for symbol in symbols}):
        found = search_in(symbol, newest)
        broken = broken_with(symbol)
        if broken and (found is None or contract_change(symbol, found.path) is None):
            missing[symbol] = broken
    assert missing == {}


@pytest.mark.parametrize(
    ("symbol", "located", "listed"),
    [
        ("aiter.fused_qk_rmsnorm", "aiter.ops.fused_qk_rmsnorm_group_quant.fused_qk_rmsnorm", True),
        # Asked for by the place that only one of the two has: no ambiguity.
        (
            "aiter.ops.fused_qk_rmsnorm_group_quant.fused_qk_rmsnorm",
            "aiter.ops.fused_qk_rmsnorm_group_quant.fused_qk_rmsnorm",
            False,
        ),
        ("aiter.qr_get_handle", "aiter.ops.quick_all_reduce.qr_get_handle", True),
        (
            "aiter.ops.triton.gemm_afp4wfp4.gemm_afp4wfp4_preshuffle",
            "aiter.ops.triton.gemm_afp4wfp4.gemm_afp4wfp4_preshuffle",
            True,
        ),
        ("aiter.fused_moe.fused_moe", "aiter.fused_moe.fused_moe", False),
    ],
)
def test_row_holds_for_every_path_of_its_symbol(symbol, located, listed):
    assert (contract_change(symbol, located) is not None) is listed
