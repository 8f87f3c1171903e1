"""The shipped whole-package records: complete, compact, and true about the releases that hosts meet."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.version import Version

import aiter_compat
from aiter_compat.errors import RecordError
from aiter_compat.probe.module_names import signature_text
from aiter_compat.recorder import symbols_text
from aiter_compat.releases import nearest_record, recorded_releases
from aiter_compat.releases.symbol_records import symbol_record, symbol_record_of, symbol_releases

DATA = files("aiter_compat.releases") / "data" / "symbols"
TWO_MEGABYTES = 2_000_000


def text_of(release: str) -> str:
    return (DATA / f"{release}.json").read_text(encoding="utf-8")


def test_releases_are_in_the_order_of_pep_440_and_cover_the_small_records():
    releases = symbol_releases()
    assert list(releases) == sorted(releases, key=Version)
    assert set(recorded_releases()) <= set(releases)
    assert releases[0] == "0.1.5"


def test_whole_set_is_small_and_whole():
    assert sum(len(text_of(release).encode()) for release in symbol_releases()) < TWO_MEGABYTES


@pytest.mark.parametrize("release", symbol_releases())
def test_every_record_is_what_the_recorder_writes(release):
    found = symbol_record(release, exact=True)
    base = json.loads(text_of(release))["base"]
    assert symbols_text(found, None if base is None else symbol_record(base, exact=True)) == text_of(release)
    assert (found.release, found.tag) == (release, f"v{release}")
    assert len(found.commit) == 40
    assert found.find("aiter.flash_attn_varlen_func").path == "aiter.ops.mha.flash_attn_varlen_func"
    assert found.find("aiter.QuantType").members["per_1x32"] == 3


@pytest.mark.parametrize("release", recorded_releases())
def test_both_records_of_a_release_agree(release):
    whole, small = symbol_record(release, exact=True), nearest_record(Version(release))
    assert small.release == release
    for path, symbol in small.surface.symbols.items():
        found = whole.find(path)
        if found.path == path:  # else a stand-in, where the module works without
            assert found.kind == symbol.kind, path
            assert found.members == symbol.members, path
        if symbol.kind == "function":
            assert found.parameters == symbol.parameters, path


@pytest.mark.parametrize(
    ("path", "release", "defined"),
    [
        ("aiter.fused_qk_rmsnorm", "0.1.13.post1", "aiter.ops.fused_qk_norm_rope_cache_quant.fused_qk_rmsnorm"),
        ("aiter.fused_qk_rmsnorm", "0.1.14.post1", "aiter.ops.fused_qk_rmsnorm_group_quant.fused_qk_rmsnorm"),
        ("aiter.fused_qk_rmsnorm", "0.1.9.post1", None),
        ("aiter.ops.triton.moe_routing.routing.routing", "0.1.9", "aiter.ops.triton.moe_routing.routing.routing"),
        ("aiter.ops.triton.gemm_a16w16", "0.1.20", "aiter.ops.triton.gemm.basic.gemm_a16w16"),
        ("aiter.fused_moe.GateMode", "0.1.20", "aiter.ops.flydsl.moe_common.GateMode"),
        (
            "aiter.ops.flydsl.kernels.mega_moe.MegaMoEV2",
            "0.1.20",
            "aiter.ops.flydsl.kernels.mega_moe.mega_moe_v2.MegaMoEV2",
        ),
        ("aiter.utility.mx_types.MxDtype", "0.1.20", "aiter.utility.mx_types.MxDtype"),
        ("aiter.dtypes", "0.1.5", "aiter.utility.dtypes"),
    ],
)
def test_known_paths(path, release, defined):
    found = symbol_record(release, exact=True).find(path)
    assert (None if found is None else found.path) == defined


def test_signature_that_compile_ops_hides_is_recorded():
    found = symbol_record("0.1.15.post3").find("aiter.moe_sorting_fwd")
    assert signature_text(found.parameters).startswith("(topk_ids, topk_weights, sorted_token_ids, ")


def test_members_of_compiled_enums_come_from_the_headers():
    newest = symbol_record(symbol_releases()[-1])
    assert newest.find("aiter.utility.mx_types.MxDtype").members["FP4_E2M1"] == 0
    assert newest.find("aiter.ActivationType").members["Situv2"] == 3


def test_exported_names_of_a_package():
    exported = symbol_record("0.1.14").exported()
    assert exported["fused_qk_rmsnorm"] == "aiter.ops.fused_qk_rmsnorm_group_quant.fused_qk_rmsnorm"
    assert "_ActivationType" not in exported


# --- choosing and reading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "exact", "given"),
    [("0.1.15", False, "0.1.15.post3"), ("v0.1.15+rocm7.2", False, "0.1.15.post3"), ("0.1.15", True, "0.1.15")],
)
def test_bare_release_means_its_last_post_release(asked, exact, given):
    assert symbol_record(asked, exact=exact).release == given


@pytest.mark.parametrize("asked", ["0.1.1", "9.9", "latest", "", "0.1.14rc0", None])
def test_unknown_release_is_an_error_that_names_the_known_ones(asked):
    with pytest.raises(RecordError, match=r"0\.1\.13\.post1, 0\.1\.14"):
        symbol_record(asked)


HEAD = {"schema": 1, "release": "2", "tag": "v2", "commit": None}


def test_difference_takes_away_and_adds():
    base = symbol_record_of(
        {**HEAD, "modules": {"aiter.a": {"f": "()", "g": "()"}, "aiter.b": {"h": "()"}, "aiter.c": {}}}, None
    )
    later = symbol_record_of({**HEAD, "modules": {"aiter.a": {"f": None, "g": "(x)"}, "aiter.b": None}}, base)
    assert later.content == {"aiter.a": {"g": "(x)"}, "aiter.c": {}}
    assert base.content["aiter.a"] == {"f": "()", "g": "()"}
    assert (later.has_module("aiter"), later.has_module("aiter.b"), later.has_module("other")) == (True, False, False)


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ({}, "schema None"),
        ({**HEAD, "schema": 7, "modules": {}}, "schema 7"),
        ({**HEAD}, "'modules' is missing"),
        ({**HEAD, "modules": 3}, "malformed"),
        ({**HEAD, "modules": {"aiter": 3}}, "malformed"),
    ],
)
def test_content_that_is_no_record_is_told(plain, told):
    with pytest.raises(RecordError, match=told):
        symbol_record_of(plain, None)


def test_what_a_call_needs_does_not_read_them():
    parent = str(Path(aiter_compat.__path__[0]).parent)
    code = f"""
import sys
sys.path.append({parent!r})
opened = []
sys.addaudithook(lambda event, args: event == "open" and "symbols" in str(args[0]) and opened.append(str(args[0])))
import aiter_compat as ac
from aiter_compat.releases import newest_record
ac.capabilities(), ac.surface(), newest_record()
assert "aiter_compat.releases.symbol_records" not in sys.modules
from aiter_compat.releases.symbol_records import symbol_record, symbol_releases
assert symbol_releases() and not [name for name in opened if name.endswith(".json")], opened
symbol_record("0.1.5", exact=True)
assert len([name for name in opened if name.endswith(".json")]) == 1, opened
assert not {{"torch", "aiter"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
