"""`fused_experts` runs a layer as its configuration asks, on a machine without AITER."""

import dataclasses
import math

import pytest
import torch

import aiter_compat as ac
from aiter_compat.layouts import interleave_rows

pytestmark = pytest.mark.usefixtures("without_aiter")

SIZES = {"hidden_size": 64, "intermediate_size": 32, "num_experts": 4, "top_k": 2}


def prepared(layer, config, **options):
    scales = (layer.call.get("w1_scale"), layer.call.get("w2_scale"))
    return ac.prepare_weights(layer.call["w1"], layer.call["w2"], *scales, config=config, **options)


def run(layer, config, weights=None, **options):
    weights = prepared(layer, config) if weights is None else weights
    routing = (layer.call["topk_weight"], layer.call["topk_ids"])
    return ac.fused_experts(layer.call["hidden_states"], weights, *routing, config=config, **options)


@pytest.mark.parametrize("activation", ["silu", "gelu", "swigluoai_uninterleave"])
@pytest.mark.parametrize("activation_format", [None, "mxfp4", "mxfp8"])
def test_what_the_checkpoint_asks_is_applied(make_layer, distance, activation, activation_format):
    layer = make_layer(tokens=8)
    config = ac.MoEConfig(**SIZES, activation=activation, activation_format=activation_format)
    swiglu = activation.startswith("swiglu")
    expected = layer.dense(
        activation="swiglu" if swiglu else activation,
        limit=7.0 if swiglu else None,
        qdq=activation_format or "none",
        round_intermediate=activation_format is not None,
    )
    assert distance(run(layer, config, dtype=torch.float32), expected) < 1e-2
    assert ac.explain(
        layer.call["hidden_states"], prepared(layer, config), layer.call["topk_weight"], layer.call["topk_ids"],
        config=config,
    ).activation_format == (activation_format or "none")  # fmt: skip


def test_emulation_applies_the_format_that_aiter_would_leave_out(make_layer):
    """AITER leaves activations of a small SwiGLU batch unquantised; the checkpoint's word counts here."""
    layer = make_layer(tokens=8)
    asked = ac.MoEConfig(**SIZES, activation="swigluoai_uninterleave", activation_format="mxfp4")
    without = dataclasses.replace(asked, activation_format="none")
    assert not torch.equal(run(layer, asked), run(layer, without))
    for exact in (False, True):
        assert torch.equal(run(layer, dataclasses.replace(asked, exact_qdq=exact)), run(layer, asked))


def test_a_gpt_oss_checkpoint_equals_its_separated_form(make_layer):
    layer = make_layer()
    bias1, bias2 = layer.biases.values()
    checkpoint = {name: interleave_rows(layer.call[name]) for name in ("w1", "w1_scale")}
    config = ac.MoEConfig(**SIZES, activation="swigluoai")
    weights = ac.prepare_weights(
        checkpoint["w1"], layer.call["w2"], checkpoint["w1_scale"], layer.call["w2_scale"],
        config=config, bias1=interleave_rows(bias1), bias2=bias2,
    )  # fmt: skip
    separated = ac.MoEConfig(**SIZES, activation="swigluoai_uninterleave")
    expected = run(layer, separated, prepared(layer, separated, bias1=bias1, bias2=bias2))
    assert torch.equal(run(layer, config, weights), expected)
    wrong = ac.prepare_weights(
        checkpoint["w1"], layer.call["w2"], checkpoint["w1_scale"], layer.call["w2_scale"],
        config=separated, bias1=interleave_rows(bias1), bias2=bias2,
    )  # fmt: skip
    assert not torch.equal(run(layer, separated, wrong), expected)


def test_numbers_of_the_activation(make_layer, distance):
    layer = make_layer("bf16")
    layer.call["hidden_states"] *= 6
    swiglu = {"weight_format": "bf16", "activation": "swigluoai_uninterleave"}

    def dense(alpha, shift, limit):
        x, out = layer.call["hidden_states"].double(), torch.zeros(5, 64, dtype=torch.float64)
        w1, w2 = torch.from_numpy(layer.w1), torch.from_numpy(layer.w2)
        for token, slot in torch.cartesian_prod(torch.arange(5), torch.arange(2)).tolist():
            expert, weight = layer.call["topk_ids"][token, slot], layer.call["topk_weight"][token, slot].double()
            gate, up = (w1[expert] @ x[token]).chunk(2)
            gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
            out[token] += weight * (w2[expert] @ (gate * torch.sigmoid(alpha * gate) * (up + shift)))
        return out

    for numbers in ((1.702, 1.0, 7.0), (1.0, 1.0, 7.0), (1.702, 0.0, 7.0), (1.702, 1.0, 2.0), (1.702, 1.0, math.inf)):
        config = ac.MoEConfig(**SIZES, **swiglu, alpha=numbers[0], beta=numbers[1], limit=numbers[2])
        assert distance(run(layer, config, dtype=torch.float32), dense(*numbers)) < 5e-3, numbers
    default = ac.MoEConfig(**SIZES, **swiglu)
    for limit in (0.0, 7.0):
        assert torch.equal(run(layer, dataclasses.replace(default, limit=limit)), run(layer, default))


def test_router_weights_on_the_input(make_layer, distance):
    layer = make_layer("bf16")
    config = ac.MoEConfig(**SIZES, weight_format="bf16", apply_router_weight_on_input=True)
    expected = layer.dense(doweight_stage1=True, round_intermediate=False)
    assert distance(run(layer, config, dtype=torch.float32), expected) < 5e-3


@pytest.mark.parametrize("activation", ["silu_no_mul", "gelu_no_mul", "relu2_no_mul"])
def test_forms_without_an_up_projection(make_layer, distance, activation):
    layer = make_layer("bf16", gated=False)
    config = ac.MoEConfig(**SIZES, weight_format="bf16", activation=activation)
    expected = layer.dense(activation=activation.removesuffix("_no_mul"), round_intermediate=False)
    assert distance(run(layer, config, dtype=torch.float32), expected) < 5e-3


def test_padding_is_derived_and_shown_and_changes_nothing(make_layer):
    layer = make_layer(hidden=256, intermediate=256)
    sizes = {"hidden_size": 256, "intermediate_size": 256, "num_experts": 4, "top_k": 2}
    config = ac.MoEConfig(**sizes, hidden_size_unpadded=100, intermediate_size_unpadded=150)
    weights = prepared(layer, config)
    routing = (layer.call["topk_weight"], layer.call["topk_ids"])
    whole = ac.MoEConfig(**sizes)
    assert torch.equal(run(layer, config), run(layer, whole))

    def explain(config, **options):
        return ac.explain(layer.call["hidden_states"], weights, *routing, config=config, **options)

    decision = explain(config)
    assert (decision.hidden_pad, decision.intermediate_pad) == (128, 64)
    assert not any("live rows" in note for note in decision.notes)
    for wrong in ("sglang", ["vllm"]):
        with pytest.raises(ac.InvalidArgument, match=r"padding_convention: got .*; allowed: aiter, vllm"):
            explain(config, padding_convention=wrong)
    doubled = explain(config, padding_convention="vllm")
    assert doubled.intermediate_pad == 128
    assert any("exceeds the true pad 106" in note and "live rows" in note for note in doubled.notes)
    off = explain(dataclasses.replace(config, intermediate_pad=0))
    assert off.intermediate_pad == 0
    assert torch.equal(run(layer, config, padding_convention="vllm"), run(layer, whole))


@pytest.mark.parametrize(
    ("change", "argument", "words"),
    [
        ({"hidden_size": 128}, "weights", "hidden_size 128"),
        ({"intermediate_size": 64}, "weights", "intermediate_size 64"),
        ({"num_experts": 8}, "weights", "expert_map"),
        ({"top_k": 1}, "topk_ids", "top_k 1"),
        ({"weight_format": "mxfp8"}, "weights", "mxfp8"),
        ({"activation": "silu_no_mul"}, "w1", "one half"),
        ({"activation": "relu2", "limit": 2.0}, "config.limit", "no clamp"),
        ({"alpha": 2.0}, "alpha", "no alpha"),
    ],
)
def test_a_configuration_that_does_not_fit_its_weights(make_layer, change, argument, words):
    layer = make_layer()
    weights = prepared(layer, ac.MoEConfig(**SIZES))
    with pytest.raises(ac.InvalidArgument) as caught:
        run(layer, ac.MoEConfig(**(SIZES | change)), weights)
    assert caught.value.argument == argument
    assert words in str(caught.value)


def test_bare_tensors_and_other_configurations_are_refused(make_layer):
    layer = make_layer()
    config = ac.MoEConfig(**SIZES)
    routing = (layer.call["topk_weight"], layer.call["topk_ids"])
    with pytest.raises(ac.InvalidArgument, match=r"weights: got Tensor; allowed: MoEWeights, from ac.prepare_weights"):
        ac.fused_experts(layer.call["hidden_states"], layer.call["w1"], *routing, config=config)
    with pytest.raises(ac.InvalidArgument, match=r"config: got dict; allowed: MoEConfig"):
        ac.fused_experts(layer.call["hidden_states"], prepared(layer, config), *routing, config={})
