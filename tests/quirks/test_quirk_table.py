"""Quirks are data with a range, an effect, a remedy and a public source."""

import re
from types import SimpleNamespace

import pytest
from packaging.version import Version

from aiter_compat.enums.names import ACTIVATIONS, QUANT_TYPES
from aiter_compat.quirks import QUIRKS, quirks_of
from aiter_compat.releases import nearest_record, recorded_releases

BY_NAME = {quirk.name: quirk for quirk in QUIRKS}


def holds(name: str, release: str) -> bool:
    return BY_NAME[name].range.contains(Version(release))


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
    assert not (quirk.harmless and quirk.ignores is None)


@pytest.mark.parametrize(
    ("name", "having", "lacking"),
    [
        ("limit_ignored", ["0.1.14", "0.1.20.post1"], ["0.1.13.post1"]),
        ("swiglu_reads_interleaved", ["0.1.9", "0.1.13.post1"], ["0.1.14", "0.1.14rc0", "0.1.20"]),
        ("pads_ignored_by_flydsl", ["0.1.13", "0.1.14.post1"], ["0.1.15", "0.1.15.post3", "0.1.16"]),
        (
            "pad_skipping_inaccurate",
            ["0.1.15", "0.1.15.post1", "0.1.15.post2"],
            ["0.1.14.post1", "0.1.15.post3", "0.1.16"],
        ),
        ("bias_switches_pads_off", ["0.1.15.post3", "0.1.16", "0.1.20.post1"], ["0.1.15", "0.1.15.post2"]),
        ("limit_zero_clamps_in_reference", ["0.1.17", "0.1.20"], ["0.1.14", "0.1.16.post6"]),
        ("shared_expert_loses_beta", ["0.1.19.post1", "0.1.20"], ["0.1.19"]),
        ("pads_ignored_by_ck", ["0.1.9", "0.1.13", "0.1.20.post1"], []),
    ],
)
def test_ranges(name, having, lacking):
    assert [release for release in having if not holds(name, release)] == []
    assert [release for release in lacking if holds(name, release)] == []


@pytest.mark.parametrize("release", recorded_releases())
def test_ranges_agree_with_the_recorded_signatures(release):
    """Where a quirk is about a keyword or a helper, the records say since when it can exist."""
    surface = nearest_record(Version(release)).surface
    function = "aiter.fused_moe.fused_moe"
    limit = surface.parameter(function, "swiglu_limit")
    assert holds("limit_ignored", release) is (limit is not None)
    assert holds("limit_zero_clamps_in_reference", release) is (limit is not None and limit.default == "None")
    assert holds("swiglu_reads_interleaved", release) is (surface.parameter(function, "gate_mode") is None)
    assert holds("bias_switches_pads_off", release) is surface.has("aiter.fused_moe._get_padding_for_flydsl")
    assert holds("shared_expert_loses_beta", release) is (surface.parameter(function, "shared_w1") is not None)


def test_a_call_meets_those_that_concern_it():
    def names(version, activation, quant_type):
        return {quirk.name for quirk in quirks_of(version, activation, quant_type)}

    old = Version("0.1.13.post1")
    assert "swiglu_reads_interleaved" in names(old, "swiglu", "per_1x32")
    assert "swiglu_reads_interleaved" not in names(old, "silu", "per_1x32")
    assert "swiglu_reads_interleaved" not in names(old, "swiglu", "no")
    assert "pads_ignored_by_ck" in names(old, "silu", "no")


def test_an_unknown_version_is_taken_for_the_newest():
    unknown = {quirk.name for quirk in quirks_of(None, "swiglu", "per_1x32")}
    assert unknown == {quirk.name for quirk in quirks_of(Version("99"), "swiglu", "per_1x32")}
    assert "limit_ignored" in unknown
    assert "pad_skipping_inaccurate" not in unknown


@pytest.mark.parametrize("ignored", sorted({quirk.ignores for quirk in QUIRKS if quirk.ignores}))
def test_the_decision_can_tell_whether_a_call_has_what_a_quirk_ignores(ignored):
    """A name that it does not know would be an AttributeError in the middle of a host's call."""
    from aiter_compat.backends.aiter_native.express import _matters
    from aiter_compat.backends.moe_call import MoECall

    call = SimpleNamespace(**dict.fromkeys(MoECall.__dataclass_fields__))
    call.activation = SimpleNamespace(limit_is_default=True)
    assert _matters(call, ignored) is False
