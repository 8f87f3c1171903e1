"""`torch.compile(fullgraph=True)` and FakeTensorMode see registered operators that compute what eager calls do."""

import dataclasses
import inspect
import math

import pytest
import torch
from torch._subclasses import FakeTensorMode

import aiter_compat as ac
from aiter_compat.moe.experts_operator import fused_experts_operator, traced_fused_experts
from aiter_compat.moe.operator import fused_moe_operator

SIZES = {"hidden_size": 64, "intermediate_size": 32, "num_experts": 4, "top_k": 2}
ROUTED = ("hidden_states", "topk_weight", "topk_ids")


@pytest.fixture(autouse=True)
def fresh_compiler(without_aiter):
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def compiled(function, **options):
    return torch.compile(function, fullgraph=True, backend="aot_eager", **options)


@pytest.fixture
def assert_compiles(make_layer):
    """The compiled call equals the eager one: `assert_compiles(layer, **arguments)`."""

    def check(layer, **arguments):
        rest = layer.without(*ROUTED) | arguments
        routed = [layer.call[name] for name in ROUTED]

        def run(hidden_states, topk_weight, topk_ids):
            return ac.fused_moe(hidden_states, topk_weight=topk_weight, topk_ids=topk_ids, **rest)

        expected = run(*routed)
        out = compiled(run)(*routed)
        assert out.dtype == expected.dtype
        assert torch.equal(out, expected)

    return check


@pytest.mark.parametrize("weights", ["mxfp4", "bf16"])
def test_compiled_equals_eager(make_layer, assert_compiles, weights):
    layer = make_layer(weights)
    assert_compiles(layer, **layer.biases, activation="swiglu", swiglu_limit=2.0, doweight_stage1=True, numerics="ocp")


def test_members_names_and_integers_can_be_traced(make_layer, assert_compiles):
    layer = make_layer()
    for kind in (
        {
            "activation": ac.ActivationType.Swiglu,
            "quant_type": ac.QuantType.per_1x32,
            "gate_mode": ac.GateMode.SEPARATED,
        },
        {"activation": "SwiGLU", "quant_type": "PER_1X32", "gate_mode": "Separated"},
        {"activation": 2, "quant_type": 3, "gate_mode": None},
    ):
        assert_compiles(layer, **kind)


def test_aiters_own_members_can_be_traced(aiter_stub, make_layer, assert_compiles):
    aiter_stub("0.1.15.post3")
    assert_compiles(make_layer(), activation=ac.ActivationType.Gelu, quant_type=ac.QuantType.per_1x32)


def test_aiters_mark_is_read_while_tracing(make_layer):
    from aiter_compat.layouts import shuffle_a16w4, shuffle_scale_a16w4

    layer = make_layer(hidden=256, intermediate=256)
    stored = {name: shuffle_a16w4(layer.call[name], name == "w1") for name in ("w1", "w2")}
    stored |= {f"{n}_scale": shuffle_scale_a16w4(layer.call[f"{n}_scale"], 4, n == "w1") for n in ("w1", "w2")}
    for name in ("w1", "w2"):
        stored[name].is_shuffled = True
    call = layer.call | stored | {"gate_mode": "Interleave", "activation": "swiglu"}
    out = compiled(lambda hidden_states: ac.fused_moe(**call | {"hidden_states": hidden_states}))
    assert torch.equal(out(call["hidden_states"]), ac.fused_moe(**call))
    assert torch.equal(out(call["hidden_states"]), ac.fused_moe(**call, weight_layout="a16w4"))


def test_the_number_of_tokens_may_change(make_layer):
    layer = make_layer("bf16", tokens=6)
    rest = layer.without(*ROUTED)

    def run(hidden_states, topk_weight, topk_ids):
        return ac.fused_moe(hidden_states, topk_weight=topk_weight, topk_ids=topk_ids, **rest) * 2

    graph = compiled(run, dynamic=True)
    for tokens, stance in ((6, "default"), (4, "fail_on_recompile"), (3, "fail_on_recompile")):
        routed = [layer.call[name][:tokens].clone() for name in ROUTED]
        with torch.compiler.set_stance(stance):
            out = graph(*routed)
        assert torch.equal(out, run(*routed))


def test_numbers_may_change(make_layer):
    layer = make_layer("bf16")
    graph = compiled(lambda hidden_states, limit: ac.fused_moe(
        **layer.call | {"hidden_states": hidden_states}, swiglu_limit=limit))  # fmt: skip
    for limit in (0.5, 0.25, math.inf, None, 0.0):
        out = graph(layer.call["hidden_states"], limit)
        assert torch.equal(out, ac.fused_moe(**layer.call, swiglu_limit=limit))


class TestFusedExperts:
    @pytest.fixture
    def layer(self, make_layer):
        return make_layer()

    def weights(self, layer, config):
        names = ("w1", "w2", "w1_scale", "w2_scale")
        return ac.prepare_weights(*(layer.call[name] for name in names), config=config, **layer.biases)

    def test_compiled_equals_eager_and_follows_the_configuration(self, layer):
        config = ac.MoEConfig(**SIZES, activation="swigluoai_uninterleave", activation_format="mxfp4", alpha=1.5)
        weights = self.weights(layer, config)
        routed = [layer.call[name] for name in ROUTED]

        def run(config, hidden_states, topk_weight, topk_ids):
            return ac.fused_experts(hidden_states, weights, topk_weight, topk_ids, config=config) + 1

        graph = compiled(run)
        outs = []
        for changes in ({}, {"limit": 0.5}, {"limit": math.inf}, {"activation_format": "mxfp8"}):
            changed = dataclasses.replace(config, **changes)
            outs.append(graph(changed, *routed))
            assert torch.equal(outs[-1], run(changed, *routed)), changes
        assert not torch.equal(outs[0], outs[1])

    def test_as_a_module_with_an_expert_map(self, layer):
        config = ac.MoEConfig(**(SIZES | {"num_experts": 6}))

        class Experts(torch.nn.Module):
            def __init__(self, weights):
                super().__init__()
                self.config, self.weights = config, weights
                self.register_buffer("expert_map", torch.tensor([-1, 0, 1, -1, 2, 3]))

            def forward(self, hidden_states, topk_weight, topk_ids):
                return ac.fused_experts(
                    hidden_states, self.weights, topk_weight, topk_ids, config=self.config, expert_map=self.expert_map
                )

        module = Experts(self.weights(layer, config))
        routed = [layer.call[name] for name in ROUTED]
        assert torch.equal(compiled(module)(*routed), module(*routed))

    def test_the_operator_takes_every_part_of_weights_and_call(self):
        names = set(inspect.signature(ac.fused_experts).parameters) - {"weights"}
        names |= {field.name for field in dataclasses.fields(ac.MoEWeights)}
        schema = fused_experts_operator._opoverload._schema
        assert {argument.name for argument in schema.arguments} == names

    def test_fake_shapes(self, layer):
        config = ac.MoEConfig(**SIZES)
        weights = self.weights(layer, config)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            routed = [mode.from_tensor(layer.call[name]) for name in ROUTED]
            out = ac.fused_experts(routed[0], weights, *routed[1:], config=config, dtype=torch.float32)
        assert (tuple(out.shape), out.dtype) == ((5, 64), torch.float32)

    def test_profiles_go_by_name(self, layer):
        config = ac.MoEConfig(**SIZES)
        tokens, *routing = (layer.call[name] for name in ROUTED)
        with pytest.raises(ac.InvalidArgument, match="a profile name"):
            traced_fused_experts(
                tokens, self.weights(layer, config), *routing, config=config, numerics=ac.numerics("quark")
            )
        with pytest.raises(ac.InvalidArgument, match=r"weights: got Tensor; allowed: MoEWeights"):
            traced_fused_experts(tokens, layer.call["w1"], *routing, config=config, numerics=None)


def test_the_operator_has_the_arguments_of_the_call():
    call = [name for name in inspect.signature(ac.fused_moe).parameters if name != "extra"]
    assert [argument.name for argument in fused_moe_operator._opoverload._schema.arguments] == call


@pytest.mark.parametrize("weights", ["mxfp4", "bf16"])
def test_operator_and_fake_agree(make_layer, weights):
    layer = make_layer(weights)
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(ac.fused_moe).parameters.items()
        if name != "extra"
    }
    without_up = {name: layer.call[name][:, :32] for name in ("w1", "w1_scale") if name in layer.call}
    for changes in ({}, {"dtype": torch.float32, **layer.biases}, without_up):
        arguments = defaults | layer.call | {"quant_type": layer.call.get("quant_type", "no")} | changes
        torch.library.opcheck(fused_moe_operator, (), arguments, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize(
    ("changes", "dtype"),
    [({}, torch.bfloat16), ({"dtype": torch.float16}, torch.float16), ({"tokens": 0}, torch.bfloat16)],
)
def test_under_fake_tensors_shape_and_dtype_are_right(make_layer, changes, dtype):
    layer = make_layer(tokens=changes.pop("tokens", 5))
    with FakeTensorMode() as mode:
        fakes = {
            name: mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
            for name, value in layer.call.items()
        }
        out = ac.fused_moe(**fakes, **changes)
    assert (tuple(out.shape), out.dtype) == (tuple(layer.call["hidden_states"].shape), dtype)


def test_quantised_tokens_give_bf16_under_fake_tensors(make_layer):
    layer = make_layer("bf16")
    with FakeTensorMode() as mode:
        fakes = {name: mode.from_tensor(value) for name, value in layer.call.items()}
        fakes["hidden_states"] = fakes["hidden_states"].to(torch.float8_e4m3fn)
        assert ac.fused_moe(**fakes).dtype == torch.bfloat16


def test_what_cannot_be_traced_says_so(make_layer):
    layer = make_layer("bf16")
    with FakeTensorMode() as mode:
        fakes = {name: mode.from_tensor(value) for name, value in layer.call.items()}
        with pytest.raises(ac.InvalidArgument, match="a profile name"):
            ac.fused_moe(**fakes, numerics=ac.numerics("quark"))
        with pytest.raises(ac.UnsupportedByEmulation, match="stage2_scatter: keywords of unrecorded"):
            ac.fused_moe(**fakes, stage2_scatter=1)
