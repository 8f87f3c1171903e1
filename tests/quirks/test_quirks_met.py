"""Which quirks a call meets: those whose every condition it fulfils on the release that is installed."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version

from aiter_compat.backends.moe_call import MoECall
from aiter_compat.quirks import QUIRKS, quirks_met
from aiter_compat.quirks.conditions import CONDITIONS
from aiter_compat.releases import nearest_record, record


def numbers(*, limit_is_default: bool = True, constants_are_default: bool = True) -> Any:
    return SimpleNamespace(limit_is_default=limit_is_default, constants_are_default=constants_are_default)


@dataclass
class PlainCall:
    """A call that asks for nothing special."""

    activation: Any = field(default_factory=numbers)
    weight_format: str = "mxfp4"
    gate_mode: str = "separated"
    weight_layout: str = "shuffle_16x16"
    intermediate: int = 512
    hidden_pad: int = 0
    intermediate_pad: int = 0
    bias1: object = None
    bias2: object = None
    doweight_stage1: bool = False
    shared_w1: object = None
    activation_qdq: str = "as_aiter"


def met(release="0.1.15.post3", activation="swiglu", quant_type="per_1x32", chosen="none", **call) -> set[str]:
    version = None if release is None else Version(release)
    surface = record("0.1.20.post1").surface if version is None else nearest_record(version).surface
    quirks = quirks_met(
        PlainCall(**call),
        version=version,
        surface=surface,
        activation=activation,
        quant_type=quant_type,
        activation_format=chosen,
    )
    return {quirk.name for quirk in quirks}


def lost(*args, **changed) -> set[str]:
    return {quirk.name for quirk in QUIRKS if quirk.outcome == "lost"} & met(*args, **changed)


def test_a_plain_call_loses_nothing():
    for release in ("0.1.13.post1", "0.1.15.post2", "0.1.20.post1", None):
        for activation in ("silu", "swiglu"):
            assert lost(release, activation) == set(), (release, activation)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("limit_ignored", {"activation": "silu", "limit": 2.0}),
        ("doweight_stage1_ignored", {"doweight_stage1": True}),
        ("bias_ignored", {"bias2": object(), "quant_type": "per_token", "weight_format": "fp8"}),
        ("bias_ignored_without_swiglu", {"bias1": object(), "activation": "silu"}),
        ("logical_scales_misread", {"weight_layout": "logical"}),
        ("cktile_needs_intermediate_256", {"intermediate": 384}),
        ("pad_skipping_inaccurate", {"intermediate_pad": 64, "release": "0.1.15.post2"}),
        ("pad_skipping_inaccurate", {"hidden_pad": 128, "release": "0.1.15"}),
        ("limited_silu_takes_swiglu_slope", {"activation": "silu", "limit": 2.0, "release": "0.1.16"}),
    ],
)
def test_what_is_lost_and_when(name, changed):
    changed = dict(changed)
    asked = {"release": changed.pop("release", "0.1.15.post3")}
    asked |= {key: changed.pop(key) for key in ("activation", "quant_type") if key in changed}
    limited = changed.pop("limit", None) is not None
    inside = quirks_met(
        PlainCall(activation=numbers(limit_is_default=not limited), **changed),
        version=Version(asked["release"]),
        surface=nearest_record(Version(asked["release"])).surface,
        activation=asked.get("activation", "swiglu"),
        quant_type=asked.get("quant_type", "per_1x32"),
        activation_format="none",
    )
    assert name in {quirk.name for quirk in inside}
    assert name not in met(**asked)


def test_pads_are_harmless_once_their_skipping_is_accurate():
    pads = {"hidden_pad": 128, "intermediate_pad": 64}
    assert lost("0.1.15.post2", **pads) == {"pad_skipping_inaccurate"}
    assert lost("0.1.15.post3", **pads) == lost("0.1.14", **pads) == set()
    assert {"pads_ignored_by_ck", "intermediate_pad_doubled_inside", "pads_rounded_down_by_cktile"} <= met(**pads)
    assert "bias_switches_pads_off" in met(**pads, bias1=object())
    assert "bias_switches_pads_off" not in met(**pads)


def test_an_unaligned_intermediate_size_is_cktiles_matter_alone():
    """FlyDSL, which serves quantised activations, was measured to read the same scales right."""
    assert lost(intermediate=384) == {"cktile_needs_intermediate_256"}
    assert lost(intermediate=384, chosen="mxfp4") == set()
    assert lost(intermediate=384, activation="silu") == set()


def test_the_bound_of_the_activation_dtype_is_named_where_aiter_chooses():
    assert "activation_format_by_tokens" in met()
    assert "activation_format_by_tokens" not in met(activation_qdq="none")
    assert "interleave_format_by_tokens" in met(activation="silu", gate_mode="interleave")
    assert "interleave_format_by_tokens" not in met(activation="silu")


def test_the_zero_weight_rule_concerns_calls_with_quantised_activations():
    assert "zero_weight_makes_zero_row" in met("0.1.15.post3", chosen="mxfp4")
    assert "zero_weight_makes_zero_row" not in met("0.1.15.post3")
    assert "padded_tokens_spread_nan" in met("0.1.16", chosen="mxfp4")
    assert "padded_tokens_spread_nan" not in met("0.1.16.post2", chosen="mxfp4")


def test_no_call_through_aiter_compat_meets_what_it_keeps_from_aiter():
    every = {name for activation in ("silu", "swiglu", "situv2") for name in met("0.1.19", activation)}
    assert not every & {"limit_zero_clamps_in_reference", "situ_defaults_differ", "interleave_fails_while_tracing"}


def test_the_installed_files_win_over_the_version():
    surface = record("0.1.13.post1").surface
    arguments = {"activation": "swiglu", "quant_type": "per_1x32", "activation_format": "none"}
    for version, own in ((Version("0.1.15.dev5"), surface), (Version("0.1.15.dev5"), record("0.1.14").surface)):
        names = {quirk.name for quirk in quirks_met(PlainCall(), version=version, surface=own, **arguments)}
        assert ("swiglu_reads_interleaved" in names) is (own is surface)


def test_conditions_read_what_every_call_has():
    """A name that a call lacks would be an AttributeError in the middle of a host's call."""
    call = SimpleNamespace(**dict.fromkeys(MoECall.__dataclass_fields__, 0))
    call.activation = numbers()
    for name, condition in CONDITIONS.items():
        assert condition(call, "none") in (True, False), name
