"""A profile is found by name or by the installed version, is validated, and cannot be changed by accident."""

import dataclasses
import subprocess
import sys

import pytest
from packaging.version import Version

from aiter_compat.errors import InvalidArgument
from aiter_compat.profiles import NumericsProfile, profile, profile_for_release, profile_names
from aiter_compat.profiles.choices import ALLOWED
from aiter_compat.profiles.table import ARITHMETIC_SINCE, DEFAULT_PROFILE, PROFILES
from aiter_compat.releases import recorded_releases


def test_the_names():
    assert profile_names() == ("aiter-0.1.13", "aiter-0.1.15", "aiter-0.1.16", "quark", "ocp")


def test_none_is_the_default():
    assert profile() == profile(None) == profile("aiter-0.1.15")
    assert DEFAULT_PROFILE == "aiter-0.1.15"


@pytest.mark.parametrize(
    ("name", "mxfp4", "mxfp6", "mxfp8", "a8w4"),
    [
        ("aiter-0.1.13", "nearest", "even", "nearest", "fp8_cast"),
        ("aiter-0.1.15", "nearest", "even", "nearest", "mxfp8"),
        ("aiter-0.1.16", "rceil", "even", "rceil", "mxfp8"),
        ("quark", "even_or_largest", "even", "even", "mxfp8"),
        ("ocp", "floor", "floor", "floor", "mxfp8"),
    ],
)
def test_what_tells_the_profiles_apart(name, mxfp4, mxfp6, mxfp8, a8w4):
    found = profile(name)
    assert found.name == name
    assert (found.mxfp4_scale_rule, found.mxfp6_scale_rule, found.mxfp8_scale_rule) == (mxfp4, mxfp6, mxfp8)
    assert found.mxfp8_e5m2_scale_rule == mxfp6
    assert found.a8w4_format == a8w4
    same_everywhere = {
        "second_qdq_from": "bf16",
        "doweight_stage1": "before_bias",
        "stage1_accumulation": "fp32",
        "stage2_order": "bias_then_weight",
        "slot_rounding": "none",
        "slot_sum": "fp32",
        "element_rounding": "nearest_even",
        "nonfinite_block": "nan",
    }
    assert {key: getattr(found, key) for key in same_everywhere} == same_everywhere


@pytest.mark.parametrize(
    ("name", "same_as"),
    [
        ("aiter-0.1.13", "aiter-0.1.13"),
        ("aiter-0.1.13.post1", "aiter-0.1.13"),
        ("aiter-0.1.14", "aiter-0.1.13"),
        ("aiter-0.1.15.post3", "aiter-0.1.15"),
        ("aiter-0.1.17", "aiter-0.1.16"),
        ("aiter-0.1.20", "aiter-0.1.16"),
        ("aiter-0.1.20.post1", "aiter-0.1.16"),
    ],
)
def test_every_known_release_names_its_arithmetic(name, same_as):
    assert profile(name) == profile(same_as)
    assert hash(profile(name)) == hash(profile(same_as))
    assert profile(name).name == name


def test_a_release_is_only_known_by_its_own_spelling():
    for release in recorded_releases():
        assert profile(f"aiter-{release}") in PROFILES.values()
    for unknown in ("aiter-0.1.99", "aiter-0.1.15.post9", "aiter-", "aiter-main", "0.1.15", "AITER-0.1.15", "mx", ""):
        with pytest.raises(InvalidArgument, match=r"numerics: .*aiter-0\.1\.13, .*quark, ocp"):
            profile(unknown)


def test_overrides():
    changed = profile("aiter-0.1.15", second_qdq_from="fp32")
    assert changed.second_qdq_from == "fp32"
    assert changed != profile("aiter-0.1.15")
    assert dataclasses.replace(changed, second_qdq_from="bf16") == profile("aiter-0.1.15")
    assert profile(changed) is changed
    assert profile(changed, slot_rounding="bf16").second_qdq_from == "fp32"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"second_qdq_from": "fp16"}, r"second_qdq_from: got fp16; allowed: 'bf16', 'fp32'"),
        ({"mxfp4_scale_rule": "RoundUp"}, r"mxfp4_scale_rule: .*'rceil'"),
        ({"block_amax_floor": 1e-9}, r"block_amax_floor: got 1e-09; allowed: 0\.0, 1e-10"),
        ({"rounding": "even"}, r"numerics: got rounding; allowed: the fields mxfp4_scale_rule"),
        ({"kernel_family": "ocp_mx"}, r"numerics: got kernel_family; allowed: the fields"),
    ],
)
def test_a_wrong_override_is_named_with_what_is_allowed(overrides, message):
    with pytest.raises(InvalidArgument, match=message):
        profile("aiter-0.1.15", **overrides)


@pytest.mark.parametrize("name", [5, b"ocp", object()])
def test_a_name_is_text(name):
    with pytest.raises(InvalidArgument, match="a profile name or a NumericsProfile"):
        profile(name)


def test_a_profile_is_frozen_hashable_and_printable():
    found = profile("ocp")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.mxfp4_scale_rule = "even"
    assert {found: 1}[profile("ocp")] == 1
    lines = str(profile("aiter-0.1.20")).splitlines()
    assert lines[0] == "aiter-0.1.20"
    assert ["mxfp4_scale_rule", "rceil"] in [line.split() for line in lines]
    assert NumericsProfile(**found.as_dict()) == found


def test_every_overridable_field_exists_and_every_named_profile_is_valid():
    fields = {item.name for item in dataclasses.fields(NumericsProfile)}
    assert set(ALLOWED) == fields - {"name", "kernel_family"}
    for found in PROFILES.values():
        assert all(getattr(found, key) in allowed for key, allowed in ALLOWED.items())


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (None, "aiter-0.1.15"),
        ("0.1.5", "aiter-0.1.13"),
        ("0.1.13.post1", "aiter-0.1.13"),
        ("0.1.14.post1", "aiter-0.1.13"),
        ("0.1.15rc0", "aiter-0.1.15"),
        ("0.1.15", "aiter-0.1.15"),
        ("0.1.15.post3+rocm7.2", "aiter-0.1.15"),
        ("0.1.16.dev3+gabc", "aiter-0.1.16"),
        ("0.1.16", "aiter-0.1.16"),
        ("0.1.24.post1", "aiter-0.1.16"),
    ],
)
def test_the_profile_of_an_installed_version(version, name):
    assert profile_for_release(None if version is None else Version(version)) == name


def test_the_ranges_are_in_order_and_name_profiles():
    since = [Version(first) for first, _ in ARITHMETIC_SINCE]
    assert since == sorted(since)
    assert {name for _, name in ARITHMETIC_SINCE} <= set(PROFILES)


def test_profiles_do_not_import_torch():
    code = "import sys, aiter_compat.profiles; assert not {'torch', 'aiter', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
