"""`resolve_padding`: AITER's own numbers by default, never above the true pad; vLLM's rule to the letter on request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aiter_compat as ac
from aiter_compat.layer_config import HOST_ACTIVATIONS


def config_of(hidden=(3072, 2880), intermediate=(3072, 2880), **fields):
    return ac.MoEConfig(
        hidden_size=hidden[0],
        hidden_size_unpadded=hidden[1],
        intermediate_size=intermediate[0],
        intermediate_size_unpadded=intermediate[1],
        num_experts=8,
        top_k=2,
        **fields,
    )


def vllm_rule(config):
    """`aiter_moe_pads` of vLLM 0.33.0 (rocm_aiter_moe.py), in words: SITU raw; else rounded; doubled at one rank."""
    hidden = config.hidden_size - (config.hidden_size_unpadded or config.hidden_size)
    intermediate = config.intermediate_pad
    if intermediate is None:
        intermediate = config.intermediate_size - (config.intermediate_size_unpadded or config.intermediate_size)
    if config.activation == "situv2":
        return hidden, intermediate
    w4a4 = config.weight_format == "mxfp4" and config.activation_format == "mxfp4"
    doubled = config.tp_size == 1 and not (w4a4 and config.activation == "silu")
    return hidden - hidden % 128, (intermediate - intermediate % 64) * (2 if doubled else 1)


@st.composite
def configs(draw):
    sizes = {}
    for name in ("hidden", "intermediate"):
        padded = 32 * draw(st.integers(1, 120))
        sizes[name] = (padded, draw(st.one_of(st.none(), st.integers(1, padded))))
    return config_of(
        **sizes,
        intermediate_pad=draw(st.one_of(st.none(), st.integers(0, sizes["intermediate"][0] - 1))),
        tp_size=draw(st.sampled_from([1, 2, 8])),
        activation=draw(st.sampled_from(sorted(HOST_ACTIVATIONS))),
        activation_format=draw(st.sampled_from([None, "mxfp4", "mxfp8"])),
    )


@given(configs())
def test_the_default_is_the_true_pad_rounded_down_and_never_more(config):
    padding = ac.resolve_padding(config)
    hidden = config.hidden_size - (config.hidden_size_unpadded or config.hidden_size)
    assert padding.hidden_pad == hidden - hidden % 128
    assert padding.intermediate_pad % 64 == 0
    assert not padding.masks_live_rows
    if config.intermediate_size_unpadded is not None:
        true = config.intermediate_size - config.intermediate_size_unpadded
        wanted = true if config.intermediate_pad is None else min(config.intermediate_pad, true)
        assert padding.intermediate_pad == wanted - wanted % 64 <= true
    else:
        stated = config.intermediate_pad or 0
        assert padding.intermediate_pad == stated - stated % 64


@given(configs())
def test_the_vllm_convention_is_vllms_rule(config):
    padding = ac.resolve_padding(config, "vllm")
    assert (padding.hidden_pad, padding.intermediate_pad) == vllm_rule(config)
    if config.intermediate_size_unpadded is not None:
        true = config.intermediate_size - config.intermediate_size_unpadded
        assert padding.masks_live_rows == (padding.intermediate_pad > true)
        assert ("mask live rows" in padding.reason) == padding.masks_live_rows


def test_gpt_oss_numbers():
    padding = ac.resolve_padding(config_of(activation="swigluoai"))
    assert (padding.hidden_pad, padding.intermediate_pad) == (128, 192)
    padding = ac.resolve_padding(config_of(activation="swigluoai"), convention="vllm")
    assert (padding.hidden_pad, padding.intermediate_pad) == (128, 384)
    assert padding.masks_live_rows
    padding = ac.resolve_padding(config_of(activation="swigluoai", tp_size=8), convention="vllm")
    assert (padding.hidden_pad, padding.intermediate_pad) == (128, 192)
    assert not padding.masks_live_rows


@pytest.mark.parametrize(
    ("activation", "activation_format", "intermediate_pad"),
    [
        ("silu", "mxfp4", 192),  # doubled inside AITER
        ("silu", None, 384),
        ("silu", "mxfp8", 384),
        ("swigluoai_uninterleave", "mxfp4", 384),
        ("situv2", "mxfp4", 200),  # raw
    ],
)
def test_exceptions_from_vllms_doubling(activation, activation_format, intermediate_pad):
    config = config_of(intermediate=(3072, 2872), activation=activation, activation_format=activation_format, tp_size=1)
    assert ac.resolve_padding(config, "vllm").intermediate_pad == intermediate_pad


def test_zero_switches_pad_skipping_off():
    for convention in ("aiter", "vllm"):
        padding = ac.resolve_padding(config_of(intermediate_pad=0), convention)
        assert padding.intermediate_pad == 0
        assert "set by the host" in padding.reason


def test_an_override_above_the_true_pad_is_cut_and_said():
    padding = ac.resolve_padding(config_of(intermediate_pad=1024))
    assert padding.intermediate_pad == 192
    assert "exceeds the true pad 192" in padding.reason


def test_an_unknown_convention_is_named():
    with pytest.raises(ac.InvalidArgument, match=r"convention: got sglang; allowed: aiter, vllm"):
        ac.resolve_padding(config_of(), "sglang")
