"""Quirks are data with ranges, an effect, a remedy and a public source."""

import re

import pytest
from packaging.version import Version

from aiter_compat.enums.names import ACTIVATIONS, QUANT_TYPES
from aiter_compat.quirks import QUIRKS, has_quirk, quirks_of
from aiter_compat.quirks.conditions import CONDITIONS
from aiter_compat.releases import nearest_record, recorded_releases

BY_NAME = {quirk.name: quirk for quirk in QUIRKS}


def holds(name: str, release: str) -> bool:
    return has_quirk(name, Version(release))


def test_names_are_identifiers_and_unique():
    assert len(BY_NAME) == len(QUIRKS)
    assert all(name.isidentifier() and name.islower() for name in BY_NAME)


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: quirk.name)
def test_every_quirk_says_what_happens_what_to_do_and_where_it_was_read(quirk):
    assert quirk.effect
    assert quirk.remedy
    assert re.search(r"v\d+\.\d+\.\d+|[\w-]+/[\w-]+#\d+", quirk.source)
    assert set(quirk.activations) <= set(ACTIVATIONS)
    assert set(quirk.quant_types) <= set(QUANT_TYPES)
    assert set(quirk.when) <= set(CONDITIONS)
    assert quirk.outcome != "lost" or quirk.when or quirk.expires, "would keep AITER from serving any call for ever"


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: quirk.name)
def test_ranges_follow_one_another_and_begin_and_end_with_releases(quirk):
    """A release that does not exist, as a bound, would be a slip of the pen."""
    bounds = [bound for span in quirk.ranges for bound in (span.since, span.until) if bound is not None]
    assert set(bounds) <= {"0.1.13.dev0", *recorded_releases()}
    assert bounds == sorted(bounds, key=Version)
    assert all(span.until is not None for span in quirk.ranges[:-1])
    assert quirk.expires == quirk.ranges[-1].until


def test_every_condition_is_used():
    assert {name for quirk in QUIRKS for name in quirk.when} == set(CONDITIONS)


@pytest.mark.parametrize(
    ("name", "having", "lacking"),
    [
        ("release_too_old", ["0.1.9", "0.1.12.post2"], ["0.1.13.dev0", "0.1.13rc1", "0.1.13", "0.1.20"]),
        ("limit_ignored", ["0.1.14", "0.1.20.post1"], ["0.1.13.post1"]),
        ("limited_silu_takes_swiglu_slope", ["0.1.14", "0.1.16.post6"], ["0.1.13.post1", "0.1.17", "0.1.20"]),
        ("limit_zero_is_unset", ["0.1.14", "0.1.16.post6"], ["0.1.13", "0.1.17rc0", "0.1.17"]),
        ("limit_zero_clamps_in_reference", ["0.1.17", "0.1.20"], ["0.1.14", "0.1.16.post6"]),
        ("situ_defaults_differ", ["0.1.19", "0.1.20.post1"], ["0.1.18"]),
        ("shared_expert_loses_beta", ["0.1.19.post1", "0.1.20"], ["0.1.19"]),
        ("fp8_activations_unscaled", ["0.1.9", "0.1.13.post1", "0.1.14.post1"], ["0.1.15", "0.1.20"]),
        ("swiglu_reads_interleaved", ["0.1.9", "0.1.13.post1"], ["0.1.14", "0.1.14rc0", "0.1.20"]),
        ("interleave_reads_a16w4", ["0.1.14", "0.1.20.post1"], ["0.1.13.post1"]),
        ("shuffle_mark_of_w1_only", ["0.1.12", "0.1.13.post1"], ["0.1.14"]),
        ("interleave_fails_while_tracing", ["0.1.19", "0.1.19.post2"], ["0.1.18", "0.1.20"]),
        ("pads_ignored_by_ck", ["0.1.9", "0.1.13", "0.1.20.post1"], []),
        ("pads_ignored_by_flydsl", ["0.1.13", "0.1.14.post1"], ["0.1.15", "0.1.15.post3", "0.1.16"]),
        (
            "pad_skipping_inaccurate",
            ["0.1.15", "0.1.15.post1", "0.1.15.post2"],
            ["0.1.14.post1", "0.1.15.post3", "0.1.16"],
        ),
        ("bias_switches_pads_off", ["0.1.15.post3", "0.1.16", "0.1.20.post1"], ["0.1.15", "0.1.15.post2"]),
        ("intermediate_pad_doubled_inside", ["0.1.9", "0.1.13", "0.1.20.post1"], []),
        # one branch had the fix before the other
        (
            "zero_weight_makes_zero_row",
            ["0.1.15.post3", "0.1.16.post2", "0.1.17", "0.1.20.post1"],
            ["0.1.15.post2", "0.1.16", "0.1.16.post1"],
        ),
        ("padded_tokens_spread_nan", ["0.1.13", "0.1.15.post2", "0.1.16", "0.1.16.post1"], ["0.1.15.post3", "0.1.17"]),
    ],
)
def test_ranges(name, having, lacking):
    assert [release for release in having if not holds(name, release)] == []
    assert [release for release in lacking if holds(name, release)] == []


@pytest.mark.parametrize("release", recorded_releases())
def test_ranges_agree_with_the_recorded_signatures(release):
    """Where the files show a quirk, the release numbers say the same of every recorded release."""
    surface = nearest_record(Version(release)).surface
    for quirk in QUIRKS:
        assert quirk.holds(Version(release), surface) is holds(quirk.name, release), quirk.name
    limit = surface.parameter("aiter.fused_moe.fused_moe", "swiglu_limit")
    assert holds("limit_zero_clamps_in_reference", release) is (limit is not None and limit.default == "None")
    assert holds("limit_zero_is_unset", release) is (limit is not None and limit.default != "None")


class TestDevelopmentBuilds:
    """Their number lies in both directions; the files decide where they show something."""

    def test_one_that_has_gate_mode_although_its_number_denies_it(self):
        surface = nearest_record(Version("0.1.15")).surface
        version = Version("0.1.13.post2.dev5+g1234567")
        assert has_quirk("swiglu_reads_interleaved", version)
        assert not has_quirk("swiglu_reads_interleaved", version, surface)
        assert has_quirk("limit_ignored", version, surface)

    def test_one_that_is_not_too_old_although_its_number_says_so(self):
        version = Version("0.1.12.post3.dev9")
        assert has_quirk("release_too_old", version)
        assert has_quirk("release_too_old", version, nearest_record(Version("0.1.12.post2")).surface)
        for release in ("0.1.13", "0.1.14"):
            assert not has_quirk("release_too_old", version, nearest_record(Version(release)).surface)

    def test_one_that_lacks_gate_mode_although_its_number_claims_it(self):
        surface = nearest_record(Version("0.1.13.post1")).surface
        version = Version("0.1.15.dev5")
        assert not has_quirk("swiglu_reads_interleaved", version)
        assert has_quirk("swiglu_reads_interleaved", version, surface)

    def test_one_that_has_the_pad_fix_before_it_was_released(self):
        version = Version("0.1.15.post3.dev1")
        assert has_quirk("pad_skipping_inaccurate", version)
        assert not has_quirk("pad_skipping_inaccurate", version, nearest_record(Version("0.1.15.post3")).surface)
        assert has_quirk("pad_skipping_inaccurate", version, nearest_record(Version("0.1.15.post2")).surface)


def test_an_unknown_version_is_taken_for_the_newest():
    unknown = {quirk.name for quirk in quirks_of(None)}
    assert unknown == {quirk.name for quirk in quirks_of(Version("99"))}
    assert "limit_ignored" in unknown
    assert "pad_skipping_inaccurate" not in unknown


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError):
        has_quirk("no_such_quirk", None)
