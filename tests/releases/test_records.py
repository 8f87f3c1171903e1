"""The shipped records: what they say about the releases that hosts meet, and how one is chosen."""

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
from aiter_compat.recorder import record_text
from aiter_compat.releases import ReleaseRecord, nearest_record, newest_record, record, recorded_releases

FUSED_MOE = "aiter.fused_moe.fused_moe"
COMMON = "aiter.ops.flydsl.moe_common.GateMode"
MIXED = "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode"
NAMED = ("0.1.13.post1", "0.1.14", "0.1.15.post3")


def test_releases_are_in_the_order_of_pep_440():
    releases = recorded_releases()
    assert set(NAMED) <= set(releases)
    assert list(releases) == sorted(releases, key=Version)
    assert releases.index("0.1.13.post1") < releases.index("0.1.14")


@pytest.mark.parametrize("release", recorded_releases())
def test_every_record_is_what_the_recorder_writes_and_has_what_a_call_needs(release):
    text = (files("aiter_compat.releases") / "data" / f"{release}.json").read_text(encoding="utf-8")
    found = ReleaseRecord.from_dict(json.loads(text))
    assert record_text(found) == text
    assert found.release == release
    assert found.tag == f"v{release}"
    assert len(found.commit) == 40
    assert found.surface.origin == found.tag
    assert found.surface.parameter(FUSED_MOE, "hidden_states").default is None
    assert found.surface.members("aiter.ops.enum.QuantType")["per_1x32"] == 3
    assert (found.surface.first([COMMON, MIXED]) is None) is (Version(release) < Version("0.1.13"))  # calls need one


@pytest.mark.parametrize(
    ("release", "count", "has", "lacks"),
    [
        ("0.1.13.post1", 22, ["splitk"], ["gate_mode", "swiglu_limit", "beta"]),
        ("0.1.14", 24, ["gate_mode", "swiglu_limit"], ["beta", "shared_w1"]),
        ("0.1.15.post3", 24, ["gate_mode", "swiglu_limit"], ["beta", "shared_w1"]),
    ],
)
def test_parameters_of_fused_moe(release, count, has, lacks):
    surface = record(release).surface
    names = [parameter.name for parameter in surface.parameters(FUSED_MOE)]
    assert len(names) == count
    assert set(has) <= set(names)
    assert not set(lacks) & set(names)


def test_gate_mode_moved_with_v0_1_14():
    before, after = record("0.1.13.post1").surface, record("0.1.14").surface
    assert (before.has(COMMON), before.has(MIXED)) == (False, True)
    assert (after.has(COMMON), after.has(MIXED)) == (True, False)
    assert before.members(MIXED) == after.members(COMMON)


@pytest.mark.parametrize("release", NAMED)
def test_enums_of_the_named_releases(release):
    surface = record(release).surface
    activation = surface.symbols["aiter.ops.enum.ActivationType"]
    assert activation.members == {"No": -1, "Silu": 0, "Gelu": 1, "Swiglu": 2}
    assert activation.enum_kind == "pybind"
    assert surface.members("aiter.ops.enum.QuantType")["per_1024x128"] == 7


def test_marker_of_the_pad_fix_came_with_the_last_0_1_15():
    marker = "aiter.fused_moe._get_padding_for_flydsl"
    assert not record("0.1.15.post2").surface.has(marker)
    assert record("0.1.15.post3").surface.has(marker)


# --- choosing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("0.1.15", "0.1.15.post3"),
        ("v0.1.15", "0.1.15.post3"),
        ("0.1.15+rocm7.2", "0.1.15.post3"),
        ("0.1.13", "0.1.13.post1"),
        ("0.1.15.post2", "0.1.15.post2"),
        ("0.1.14.post1+rocm7.2", "0.1.14.post1"),
    ],
)
def test_bare_release_means_its_last_post_release(asked, given):
    assert record(asked).release == given


def test_record_is_loaded_once():
    assert record("0.1.14.post1") is record("0.1.14")


@pytest.mark.parametrize("asked", ["0.1.1", "9.9", "0.1.14rc0", "0.1.15.dev5", "0.1.15.post9", "latest", ""])
def test_unknown_release_is_an_error_that_names_the_known_ones(asked):
    with pytest.raises(RecordError, match=r"0\.1\.13\.post1, 0\.1\.14"):
        record(asked)


@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        ("0.1.14", "0.1.14"),
        ("0.1.14+rocm7.2", "0.1.14"),
        ("0.1.15.dev5+g987203b", "0.1.14.post1"),
        ("0.1.14.post7", "0.1.14.post1"),
        ("0.1.15.post3.dev1", "0.1.15.post2"),
        ("0.1.12.post3", "0.1.12.post2"),
        ("0.1.8", None),
    ],
)
def test_nearest_record_is_the_last_that_is_not_newer(version, nearest):
    found = nearest_record(Version(version))
    assert (None if found is None else found.release) == nearest


def test_unknown_newer_release_is_served_by_the_newest_record():
    assert nearest_record(Version("99")) is newest_record()
    assert newest_record().release == recorded_releases()[-1]


# --- reading -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ({}, "schema None"),
        ({"schema": 2}, "schema 2"),
        ({"schema": 1, "release": "0.1.14"}, "'tag' is missing"),
        ({"schema": 1, "release": "0.1.14", "tag": "v0.1.14", "commit": None, "symbols": 3}, "malformed"),
    ],
)
def test_content_that_is_no_record_is_told(plain, told):
    with pytest.raises(RecordError, match=told):
        ReleaseRecord.from_dict(plain)


def test_records_are_read_only_when_asked_for():
    parent = str(Path(aiter_compat.__path__[0]).parent)
    code = f"""
import sys
sys.path.append({parent!r})
opened = []
sys.addaudithook(lambda event, args: event == "open" and str(args[0]).endswith(".json") and opened.append(args[0]))
from aiter_compat.releases import record, recorded_releases
assert recorded_releases() and not opened
record("0.1.14")
assert len(opened) == 1, opened
assert not {{"torch", "aiter"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
