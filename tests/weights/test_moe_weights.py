"""`MoEWeights` keep their layout wherever they go, and move between layouts without losing a bit."""

import dataclasses

import pytest
import torch

import aiter_compat as ac
from aiter_compat.weights import MoEWeights, relay_weights, target_layout

SIZES = {"hidden_size": 256, "intermediate_size": 256, "num_experts": 2, "top_k": 1}


def weights_of(weight_format="mxfp4", gated=True, hidden=256, intermediate=256, experts=2):
    generator = torch.Generator().manual_seed(1)
    rows = intermediate * (2 if gated else 1)
    if weight_format == "bf16":
        w1 = torch.randn(experts, rows, hidden, generator=generator).bfloat16()
        w2 = torch.randn(experts, hidden, intermediate, generator=generator).bfloat16()
        return MoEWeights(w1, w2, None, None, None, None, "logical", weight_format)
    per_byte = 2 if weight_format == "mxfp4" else 1

    def codes(*shape):
        return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)

    return MoEWeights(
        codes(experts, rows, hidden // per_byte),
        codes(experts, hidden, intermediate // per_byte),
        codes(experts, rows, hidden // 32),
        codes(experts, hidden, intermediate // 32),
        torch.randn(experts, rows, generator=generator),
        torch.randn(experts, hidden, generator=generator),
        "logical",
        weight_format,
    )


def assert_same(actual, expected):
    for field in dataclasses.fields(MoEWeights):
        left, right = getattr(actual, field.name), getattr(expected, field.name)
        assert torch.equal(left, right) if isinstance(right, torch.Tensor) else left == right, field.name


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize(
    ("weight_format", "layout"),
    [("mxfp4", "shuffle_16x16"), ("mxfp4", "a16w4"), ("mxfp8", "shuffle_16x16"), ("bf16", "shuffle_16x16")],
)
def test_there_and_back_is_the_identity(weight_format, layout, gated):
    weights = weights_of(weight_format, gated)
    shuffled = relay_weights(weights, layout)
    assert shuffled.layout == layout
    assert not torch.equal(shuffled.w1, weights.w1)
    assert_same(relay_weights(shuffled, "logical"), weights)


@pytest.mark.parametrize("layout", ["shuffle_16x16", "a16w4"])
def test_shuffled_weights_carry_aiters_mark_outside_too(layout):
    weights = weights_of()
    shuffled = relay_weights(weights, layout)
    assert shuffled.w1.is_shuffled
    assert shuffled.w2.is_shuffled
    for unmarked in (weights, relay_weights(shuffled, "logical")):
        assert not hasattr(unmarked.w1, "is_shuffled")
        assert not hasattr(unmarked.w2, "is_shuffled")


@pytest.mark.parametrize("sizes", [{"hidden": 64, "intermediate": 64, "experts": 3}, {"hidden": 192, "experts": 1}])
def test_scales_that_aiter_pads_come_back_whole(sizes):
    weights = weights_of(**sizes)
    assert_same(relay_weights(relay_weights(weights, "shuffle_16x16"), "logical"), weights)


def test_one_shuffled_layout_becomes_the_other():
    weights = weights_of()
    tiles = relay_weights(weights, "shuffle_16x16")
    assert_same(relay_weights(tiles, "a16w4"), relay_weights(weights, "a16w4"))


def test_weights_that_lie_right_already_are_the_same_object():
    for layout in ("logical", "shuffle_16x16", "a16w4"):
        weights = relay_weights(weights_of(), layout)
        assert relay_weights(weights, layout) is weights


def test_sizes_that_a_layout_cannot_hold_are_refused():
    with pytest.raises(ac.InvalidArgument, match="multiple of"):
        relay_weights(weights_of(hidden=96), "a16w4")


def test_an_unknown_layout_and_missing_scales_are_refused():
    with pytest.raises(ac.InvalidArgument, match=r"layout: got tiles; allowed: logical, shuffle_16x16, a16w4"):
        relay_weights(weights_of(), "tiles")
    with pytest.raises(ac.InvalidArgument, match="e8m0 scales"):
        relay_weights(dataclasses.replace(weights_of(), w1_scale=None), "a16w4")


def test_moving_to_a_device_keeps_the_layout():
    weights = relay_weights(weights_of(), "a16w4")
    moved = weights.to("meta")
    assert moved.layout == "a16w4"
    assert moved.weight_format == "mxfp4"
    for field in dataclasses.fields(MoEWeights):
        value = getattr(moved, field.name)
        assert not isinstance(value, torch.Tensor) or value.device.type == "meta", field.name
    assert weights.device.type == "cpu"
    assert weights_of("bf16").to("meta").w1_scale is None


def test_repr_says_format_and_layout_not_numbers():
    text = repr(relay_weights(weights_of(), "a16w4"))
    assert text == "MoEWeights(mxfp4, layout='a16w4', w1=[2, 512, 128], w2=[2, 256, 128], bias=yes, device=cpu)"


@pytest.mark.parametrize(
    ("fields", "layout"),
    [
        ({"activation": "swigluoai", "activation_format": "mxfp4"}, "a16w4"),
        ({"activation": "swigluoai_uninterleave", "activation_format": "mxfp4"}, "shuffle_16x16"),
        ({"activation": "silu", "activation_format": "mxfp4"}, "shuffle_16x16"),
        ({"activation": "silu"}, "a16w4"),  # weight-only MXFP4 always
        ({"activation": "swigluoai", "weight_format": "bf16"}, "shuffle_16x16"),
        ({"weight_format": "fp8_token"}, "shuffle_16x16"),
    ],
)
def test_the_layout_that_aiter_reads(fields, layout):
    assert target_layout(ac.MoEConfig(**SIZES, **fields)) == layout
