"""`prepare_weights` puts a checkpoint into the layout of the backend that will serve it, once, and without loss."""

import warnings

import pytest
import torch

import aiter_compat as ac
from aiter_compat.layouts import interleave_rows

SIZES = {"hidden_size": 256, "intermediate_size": 256, "num_experts": 4, "top_k": 2}
RELEASE = "0.1.15.post3"


@pytest.fixture
def layer(make_layer):
    return make_layer(hidden=256, intermediate=256)


def config_of(activation="silu", activation_format="mxfp4", **fields):
    return ac.MoEConfig(**(SIZES | {"activation": activation, "activation_format": activation_format} | fields))


def prepare(layer, config, **options):
    names = ("w1", "w2", "w1_scale", "w2_scale")
    return ac.prepare_weights(*(layer.call.get(name) for name in names), config=config, **options)


def run(layer, weights, config, **options):
    routing = (layer.call["topk_weight"], layer.call["topk_ids"])
    return ac.fused_experts(layer.call["hidden_states"], weights, *routing, config=config, **options)


LAYERS = {
    "silu w4a4": (config_of(), "shuffle_16x16"),
    "weight-only": (config_of(activation_format=None), "a16w4"),
    "gpt-oss": (config_of("swigluoai", gate_layout="separated"), "a16w4"),
    "MiniMax-M3": (config_of("swigluoai_uninterleave"), "shuffle_16x16"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_every_backend_computes_from_every_backends_weights(layer, without_aiter, name):
    config, layout = LAYERS[name]
    rows = prepare(layer, config, backend="emulation", **layer.biases)
    assert rows.layout == "logical"
    shuffled = prepare(layer, config, backend="aiter", **layer.biases)
    assert shuffled.layout == layout
    assert not torch.equal(shuffled.w1, rows.w1)
    expected = run(layer, rows, config)
    assert torch.equal(run(layer, shuffled, config), expected)
    for weights, backend in ((rows, "aiter"), (shuffled, "emulation")):
        moved = ac.prepare_weights(weights, config=config, backend=backend)
        assert moved.layout == (layout if backend == "aiter" else "logical")
        assert torch.equal(run(layer, moved, config), expected)


@pytest.mark.parametrize("name", LAYERS)
def test_aiter_reads_what_was_prepared_for_it(layer, aiter_stub, usable_on_cpu, name):
    aiter_stub(RELEASE)
    config, layout = LAYERS[name]
    weights = prepare(layer, config)  # auto: AITER will serve
    assert weights.layout == layout
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decision = ac.explain(
            layer.call["hidden_states"], weights, layer.call["topk_weight"], layer.call["topk_ids"], config=config
        )
        assert (decision.backend, decision.weight_layout) == ("aiter", layout)
        out = run(layer, weights, config)
    plain = config_of(config.activation, "none", gate_layout="separated")
    expected = run(layer, prepare(layer, plain, backend="emulation"), plain, backend="emulation")
    assert (out - expected).float().norm() / expected.float().norm() < 6e-3


def test_expert_parallel_weights_are_prepared_for_aiter_too(layer, aiter_stub, usable_on_cpu):
    aiter_stub(RELEASE)
    config = config_of(num_experts=8)
    weights = prepare(layer, config)
    assert weights.layout == "shuffle_16x16"
    expert_map = torch.tensor([-1, -1, -1, -1, 0, 1, 2, 3])
    decision = ac.explain(
        layer.call["hidden_states"], weights, layer.call["topk_weight"], layer.call["topk_ids"],
        config=config, expert_map=expert_map,
    )  # fmt: skip
    assert decision.backend == "aiter"


def test_auto_prepares_for_the_emulation_where_it_will_serve(layer, aiter_stub):
    assert prepare(layer, config_of()).layout == "logical"
    aiter_stub(RELEASE)  # works, but not on this device
    assert prepare(layer, config_of()).layout == "logical"


def test_auto_prepares_for_the_emulation_what_aiter_cannot_express(layer, aiter_stub, usable_on_cpu):
    aiter_stub("0.1.13.post1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert prepare(layer, config_of("swigluoai_uninterleave")).layout == "logical"
        assert prepare(layer, config_of()).layout == "shuffle_16x16"


def test_sizes_that_aiters_layout_cannot_hold(make_layer, aiter_stub, usable_on_cpu):
    aiter_stub(RELEASE)
    layer = make_layer(hidden=96, intermediate=256)
    config = config_of("swigluoai", hidden_size=96, intermediate_size=256, gate_layout="separated")
    with pytest.warns(ac.AiterCompatWarning, match="preparing for the emulation: .*multiple of") as caught:
        assert prepare(layer, config).layout == "logical"
    assert caught[0].filename == __file__
    with pytest.raises(ac.InvalidArgument, match="multiple of"):
        prepare(layer, config, backend="aiter")


def test_preparing_twice_is_preparing_once(layer):
    for backend in ("aiter", "emulation"):
        weights = prepare(layer, config_of(), backend=backend)
        assert ac.prepare_weights(weights, config=config_of(), backend=backend) is weights


@pytest.mark.parametrize("flat", [False, True])
def test_a_checkpoints_alternating_rows_are_separated(layer, flat):
    config = config_of("swigluoai")
    bias1, bias2 = layer.biases.values()
    w1, scale = (interleave_rows(layer.call[name]) for name in ("w1", "w1_scale"))
    weights = ac.prepare_weights(
        w1, layer.call["w2"], scale.flatten(0, 1) if flat else scale, layer.call["w2_scale"],
        config=config, bias1=interleave_rows(bias1), bias2=bias2, backend="emulation",
    )  # fmt: skip
    for actual, expected in (
        (weights.w1, layer.call["w1"]),
        (weights.w1_scale, layer.call["w1_scale"]),
        (weights.bias1, bias1),
        (weights.bias2, bias2),
    ):
        assert torch.equal(actual, expected)


def test_biases_are_held_in_fp32(layer):
    weights = prepare(layer, config_of(), **{name: bias.bfloat16() for name, bias in layer.biases.items()})
    assert weights.bias1.dtype == weights.bias2.dtype == torch.float32


def test_weights_marked_as_shuffled_are_refused(layer):
    layer.call["w1"].is_shuffled = True
    with pytest.raises(ac.InvalidArgument, match=r"w1: got weights that carry is_shuffled=True.*second shuffle"):
        prepare(layer, config_of())


@pytest.mark.parametrize("activation", ["silu", "swigluoai_uninterleave"])
def test_tensors_taken_out_of_prepared_weights_are_not_shuffled_again(layer, activation):
    config = config_of(activation)
    once = prepare(layer, config, backend="aiter")
    with pytest.raises(ac.InvalidArgument, match="second shuffle"):
        ac.prepare_weights(once.w1, once.w2, once.w1_scale, once.w2_scale, config=config, backend="aiter")


@pytest.mark.parametrize(
    ("changes", "argument", "words"),
    [
        ({"w1": lambda w: w[:, :256]}, "w1", "512, 128"),
        ({"w1": lambda w: w[0]}, "w1", "3 dimensions"),
        ({"w2": lambda w: w[:2]}, "w2", "4, as w1 has"),
        ({"w2": lambda w: None}, "w2", "torch.Tensor"),
        ({"w1_scale": lambda s: None}, "w1_scale", "with mxfp4"),
        ({"w1_scale": lambda s: s[:, :, :4]}, "w1_scale", "[4, 512, 8] or [2048, 8]"),
        ({"w2_scale": lambda s: s.float()}, "w2_scale", "biased exponent"),
        ({"w2_scale": lambda s: s.tolist()}, "w2_scale", "torch.Tensor"),
        ({"bias1": lambda b: b[:, :256]}, "bias1", "[4, 512]"),
        ({"bias2": lambda b: b[0]}, "bias2", "2 dimensions"),
        ({"backend": lambda b: "rocm"}, "backend", "emulation"),
    ],
)
def test_what_does_not_fit_is_named(layer, changes, argument, words):
    given = {name: layer.call[name] for name in ("w1", "w2", "w1_scale", "w2_scale")} | layer.biases
    given |= {name: change(given.get(name)) for name, change in changes.items()}
    with pytest.raises(ac.InvalidArgument) as caught:
        ac.prepare_weights(**given, config=config_of())
    assert caught.value.argument == argument
    assert words in str(caught.value)


def test_unquantised_weights_have_no_scales(make_layer):
    layer = make_layer("bf16")
    config = ac.MoEConfig(hidden_size=64, intermediate_size=32, num_experts=4, top_k=2, weight_format="bf16")
    with pytest.raises(ac.InvalidArgument, match="w1_scale: got a tensor; allowed: None with bf16"):
        ac.prepare_weights(layer.call["w1"], layer.call["w2"], torch.ones(4), config=config)


def test_prepared_weights_come_alone_and_with_their_own_format(layer):
    weights = prepare(layer, config_of())
    with pytest.raises(ac.InvalidArgument, match="MoEWeights alone"):
        ac.prepare_weights(weights, layer.call["w2"], config=config_of())
    with pytest.raises(ac.InvalidArgument, match="mxfp8, as config says"):
        ac.prepare_weights(weights, config=config_of(weight_format="mxfp8"))


def test_tile_scales_cannot_follow_rows_apart():
    config = config_of("swigluoai", None, weight_format="fp8_128x128")
    w1, w2 = (torch.zeros(4, rows, 256, dtype=torch.float8_e4m3fn) for rows in (512, 256))
    with pytest.raises(ac.InvalidArgument, match=r"config.gate_layout.*quantise after separating"):
        ac.prepare_weights(w1, w2, torch.ones(4, 4, 2), torch.ones(4, 2, 2), config=config)
