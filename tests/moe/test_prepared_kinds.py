"""A call that was prepared for gives what an unprepared process gives, whatever changed since the call before.

AITER is a stub whose `fused_moe` is replaced by a function of the same signature that notes what arrives.
"""

import dataclasses
import inspect
import os
import sys
import threading
import warnings

import pytest
import torch

import aiter_compat as ac
from aiter_compat.layouts import shuffle_a16w4, shuffle_scale_a16w4
from aiter_compat.moe import decide, preparing, run
from aiter_compat.moe.fronts import FUSED_EXPERTS, FUSED_MOE
from aiter_compat.prepared_calls import forget_prepared_calls

RELEASES = ("0.1.15.post3", "0.1.20.post1")
OF_THE_LAYER = ("w1", "w2", "w1_scale", "w2_scale", "bias1", "bias2")
pytestmark = pytest.mark.filterwarnings("ignore::aiter_compat.AiterCompatWarning")


@pytest.fixture
def level(monkeypatch):
    def choose(name):
        monkeypatch.setenv("AITER_COMPAT_CHECKS", name)
        ac.refresh()

    return choose


@pytest.fixture
def arrivals(aiter_stub):
    """Installs a release; the list that it returns holds the arguments of every call that reached AITER."""

    def install(release):
        aiter_stub(release)
        ac.ActivationType.Silu  # noqa: B018 - imports AITER
        module = sys.modules["aiter.fused_moe"] if "aiter.fused_moe" in sys.modules else _import()
        signature, seen = inspect.signature(module.fused_moe), []

        def note(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            seen.append(bound.arguments)
            return bound.arguments["hidden_states"]

        module.fused_moe = note
        return seen

    return install


def _import():
    import aiter.fused_moe

    return aiter.fused_moe


@pytest.fixture
def shuffled(make_layer):
    """A call of AITER as gpt-oss makes it: interleaved MXFP4 weights in AITER's layout, marked, with biases."""

    def make(seed=0, **sizes):
        layer = make_layer(hidden=256, intermediate=256, seed=seed, **sizes)
        call = layer.call | layer.biases | {"activation": "swiglu", "gate_mode": "interleave", "backend": "aiter"}
        for name in ("w1", "w2"):
            scale = f"{name}_scale"
            call[scale] = shuffle_scale_a16w4(call[scale], call[name].shape[0], name == "w1")
            call[name] = shuffle_a16w4(call[name], name == "w1")
            call[name].is_shuffled = True
        return call

    return make


def outcome(call, seen=None):
    """The result and what reached AITER, or the error; comparable."""
    before = 0 if seen is None else len(seen)
    try:
        result = ac.fused_moe(**call)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
        return type(error), str(error)
    arrived = [] if seen is None else [{name: told(value) for name, value in one.items()} for one in seen[before:]]
    values = None if result.is_meta else result.float().tolist()
    return result.dtype, tuple(result.shape), values, arrived


def told(value):
    if not isinstance(value, torch.Tensor):
        return type(value), value
    total = None if value.is_meta else float(value.double().sum())
    return value.dtype, tuple(value.shape), total, getattr(value, "is_shuffled", None), str(value.device)


def another(tensor, **changes):
    """Another tensor of the same values; marked alike."""
    copy = tensor.clone()
    mark = changes.get("mark", getattr(tensor, "is_shuffled", None))
    if mark is not None:
        copy.is_shuffled = mark
    return copy


class NoNumber:
    __hash__ = None


def changes_of(call):
    """For each argument: values to change it to, one at a time."""
    tokens, experts = call["hidden_states"].shape[0], call["w1"].shape[0]
    more = 3

    def rows(count):
        return {
            "hidden_states": call["hidden_states"][:1].repeat(count, 1),
            "topk_weight": call["topk_weight"][:1].repeat(count, 1),
            "topk_ids": call["topk_ids"][:1].repeat(count, 1),
        }

    meta = {name: call[name].to("meta") for name in call if isinstance(call[name], torch.Tensor)}
    wrong = (NoNumber(), "7", torch.tensor(7.0))
    return {
        "hidden_states": [
            rows(0), rows(1), rows(more), rows(255), rows(256), rows(700),
            call["hidden_states"].half(), call["hidden_states"].float(), call["hidden_states"][:, :128],
            call["hidden_states"][0], call["hidden_states"][:1], meta["hidden_states"], None, 3,
            torch.nn.Parameter(call["hidden_states"], requires_grad=False),
        ],
        "w1": [
            another(call["w1"]), another(call["w1"], mark=False), call["w1"][:, :256].contiguous(),
            call["w1"].view(torch.int8), call["w1"][:2], call["w1"][0], meta["w1"], None, 3,
            torch.nn.Parameter(call["w1"], requires_grad=False),
        ],
        "w2": [
            another(call["w2"]), another(call["w2"], mark=False), call["w2"][:, :, :64], call["w2"].view(torch.int8),
            call["w2"][:, :128], meta["w2"], None, 3,
        ],
        "topk_weight": [
            call["topk_weight"].double(), call["topk_weight"].half(), call["topk_weight"].int(),
            call["topk_weight"][:, :1], call["topk_weight"][:1], call["topk_weight"][0], meta["topk_weight"], None,
        ],
        "topk_ids": [
            call["topk_ids"].long(), call["topk_ids"].short(), call["topk_ids"].float(), call["topk_ids"][:, :1],
            call["topk_ids"][:1], call["topk_ids"][0], meta["topk_ids"], None, [[0, 1]] * tokens,
            {"topk_ids": call["topk_ids"][:, :1], "topk_weight": call["topk_weight"][:, :1]},
        ],
        "expert_mask": [
            torch.ones(experts, dtype=torch.int32), torch.tensor([1, 1, 0, 1, 1]), torch.tensor([0, 1, -1, 2, 3]),
            torch.ones(experts), torch.ones(2, dtype=torch.int32), torch.ones(1, experts, dtype=torch.int32), 1,
        ],
        "activation": [
            "SwiGLU", "silu", "gelu", "relu2", 2, True, 99, "swish", ["silu"], None, ac.ActivationType.Swiglu,
            ac.ActivationType.Silu, ac.QuantType.per_1x32,
        ],
        "quant_type": [
            "PER_1X32", "no", "per_token", 4, 99, "mx", ["no"], None, ac.QuantType.per_1x32, ac.QuantType.No,
            ac.ActivationType.Silu,
        ],
        "doweight_stage1": [True, False, 1, 0, None, "yes"],
        "w1_scale": [another(call["w1_scale"]), call["w1_scale"].int(), call["w1_scale"][:1], None, 3],
        "w2_scale": [another(call["w2_scale"]), call["w2_scale"].int(), call["w2_scale"][:1], None, 3],
        "a1_scale": [torch.ones(1), torch.ones(2), meta["w1_scale"], 1.0],
        "a2_scale": [torch.ones(1), torch.ones(2), meta["w1_scale"], 1.0],
        "block_size_M": [32, 64, 64.0, True, *wrong],
        "num_local_tokens": [
            torch.tensor([2], dtype=torch.int32), torch.tensor([2]), torch.tensor([1.0]), torch.tensor([1, 2]), 2,
        ],
        "moe_sorting_dispatch_policy": [1, 2, True, 1.0, None, *wrong],
        "dtype": [torch.bfloat16, torch.float16, torch.float32, torch.int32, "bfloat16"],
        "hidden_pad": [64, 128, True, 1, 1.0, -1, 256, None, *wrong],
        "intermediate_pad": [64, 128, True, 1, 1.0, -1, 256, None, *wrong],
        "bias1": [another(call["bias1"]), call["bias1"].bfloat16(), call["bias1"][:, :7], meta["bias1"], None, 3],
        "bias2": [another(call["bias2"]), call["bias2"].bfloat16(), call["bias2"][:, :7], meta["bias2"], None, 3],
        "splitk": [1, True, 1.0, None, *wrong],
        "swiglu_limit": [0.0, 7.0, 7, 2.0, float("inf"), float("nan"), -1.0, True, *wrong],
        "gate_mode": [None, "separated", "Interleave", "gate_only", "x", 3, ["interleave"], ac.GateMode.INTERLEAVE],
        "beta": [1.0, 2.0, *wrong],
        "linear_beta": [25.0, 1.0, *wrong],
        "shared_w1": [call["w1"][:1], 3],
        "shared_w2": [call["w2"][:1], 3],
        "shared_w1_scale": [call["w1_scale"][:1], 3],
        "shared_w2_scale": [call["w2_scale"][:1], 3],
        "shared_expert_id": [0, experts - 1, True, 1.0, None],
        "backend": ["auto", "emulation", "Torch", "x", 3, ["aiter"]],
        "numerics": ["aiter-0.1.15", "ocp", ac.numerics("ocp"), ac.numerics("aiter-0.1.15"), "x", 3],
        "activation_qdq": ["mxfp4", "mxfp8", "none", "fp8_1x128", "x", 3],
        "weight_layout": ["a16w4", "logical", "shuffle_16x16", "A16W4", "x", 3],
        "extra": [{"stage2_scatter": None}, {"stage2_scatter": 1}],
    }  # fmt: skip


def changed(call, name, value):
    if name == "extra" or isinstance(value, dict):
        return call | value
    return call | {name: value}


NAMES = tuple(inspect.signature(ac.fused_moe).parameters)


OF_THE_NEWER_RELEASE = ("beta", "linear_beta", *(name for name in NAMES if name.startswith("shared_")))


@pytest.mark.parametrize(
    ("release", "name"),
    [*((RELEASES[0], name) for name in NAMES), *((RELEASES[1], name) for name in OF_THE_NEWER_RELEASE)],
)
def test_one_argument_changes_from_call_to_call(arrivals, shuffled, release, name):
    seen, call = arrivals(release), shuffled()
    expected = {}
    variants = [call, *(changed(call, name, value) for value in changes_of(call)[name])]
    for index, variant in enumerate(variants):
        forget_prepared_calls()
        expected[index] = outcome(variant, seen)
    forget_prepared_calls()
    assert expected[0][0] == torch.bfloat16
    for _ in range(2):
        for index, variant in enumerate(variants):
            assert outcome(variant, seen) == expected[index], (name, index)
            assert outcome(call, seen) == expected[0], (name, index)


@pytest.mark.parametrize("name", NAMES)
def test_one_argument_changes_from_call_to_call_with_checks_off(arrivals, shuffled, level, name):
    """What is served then is what an unprepared process serves; another tensor of a layer comes with another layer."""
    level("off")
    seen, call = arrivals(RELEASES[0]), shuffled()
    variants = [call]
    for value in changes_of(call)[name]:
        variant = changed(call, name, value)
        if name in OF_THE_LAYER[1:]:
            variant["w1"] = another(call["w1"])
        variants.append(variant)
    expected = {}
    for index, variant in enumerate(variants):
        forget_prepared_calls()
        served = outcome(variant, seen)
        if len(served) > 2:  # what is refused at first sight is not looked at again
            expected[index] = served
    forget_prepared_calls()
    for _ in range(3):
        for index, served in expected.items():
            assert outcome(variants[index], seen) == served, (name, index)
            assert outcome(call, seen) == expected[0], (name, index)


@pytest.mark.parametrize("name", NAMES)
def test_one_argument_changes_from_call_to_call_emulated(without_aiter, make_layer, name):
    layer = make_layer(hidden=64, intermediate=64, experts=5)
    call = layer.call | layer.biases | {"activation": "swiglu", "swiglu_limit": 3.0}
    if name in ("hidden_states", "topk_ids", "topk_weight"):
        call["gate_mode"] = "separated"
    values = [value for value in changes_of(call)[name] if getattr(value, "device", call["w1"].device).type == "cpu"]
    variants = [call, *(changed(call, name, value) for value in values)]
    strided = call["w1"].transpose(1, 2).contiguous().transpose(1, 2)
    variants.append(call | {"w1": strided} if name == "w1" else call)
    columns = call["hidden_states"].t().contiguous().t()
    variants.append(call | {"hidden_states": columns} if name == "hidden_states" else call)
    expected = {}
    for index, variant in enumerate(variants):
        forget_prepared_calls()
        expected[index] = outcome(variant)
    forget_prepared_calls()
    assert len(expected[0]) > 2
    for index, variant in enumerate(variants):
        for one, other in ((variant, index), (call, 0)):
            assert str(outcome(one)) == str(expected[other]), (name, index)


@pytest.mark.parametrize("checks", ["off", "metadata"])
class TestWhatIsSaved:
    @pytest.fixture
    def ready(self, arrivals, shuffled, level, checks):
        """A call that was made once, and the list of what reached AITER."""
        level(checks)
        seen, call = arrivals(RELEASES[0]), shuffled()
        ac.fused_moe(**call)
        return call, seen

    @pytest.fixture
    def no_long_way(self, monkeypatch):
        def fail(*args, **kwargs):
            pytest.fail("the call was validated again")

        monkeypatch.setattr("aiter_compat.moe.serving.plan_call", fail)
        monkeypatch.setattr("aiter_compat.moe.entry.build_call", fail)
        monkeypatch.setattr("aiter_compat.moe.experts.build_call", fail)

    def test_neither_validation_nor_decision_is_repeated(self, ready, no_long_way):
        call, seen = ready
        ac.fused_moe(**call)
        for tokens in (1, 3, 17):
            routed = ("hidden_states", "topk_weight", "topk_ids")
            ac.fused_moe(**call | {name: call[name][:1].repeat(tokens, 1) for name in routed})
        assert [len(one["hidden_states"]) for one in seen] == [5, 5, 1, 3, 17]

    def test_another_layer_of_the_same_kind(self, ready, no_long_way, shuffled):
        _, seen = ready
        other = shuffled(seed=3)
        for _ in range(2):
            ac.fused_moe(**other)
            assert seen[-1]["w1"] is other["w1"]
            assert seen[-1]["bias2"] is other["bias2"]

    def test_the_environment_is_not_read(self, ready, monkeypatch):
        call, seen = ready

        class Unreadable:
            def __getattribute__(self, name):
                raise AssertionError(f"os.environ.{name} was read")

        with monkeypatch.context() as patch:
            patch.setattr(os, "environ", Unreadable())
            patch.setattr(os, "getenv", Unreadable())
            ac.fused_moe(**call)
        assert len(seen) == 2

    def test_what_has_the_right_dtype_is_passed_on_itself(self, ready):
        call, seen = ready
        ac.fused_moe(**call)
        for name in ("hidden_states", "topk_weight", "topk_ids", *OF_THE_LAYER):
            assert seen[-1][name] is call[name], name
        wide = call | {"topk_ids": call["topk_ids"].long(), "topk_weight": call["topk_weight"].double()}
        for _ in range(2):
            ac.fused_moe(**wide)
            assert torch.equal(seen[-1]["topk_ids"], call["topk_ids"])
            assert (seen[-1]["topk_ids"].dtype, seen[-1]["topk_weight"].dtype) == (torch.int32, torch.float32)

    def test_a_new_setting_is_followed_after_refresh(self, ready, level, checks):
        call, _ = ready
        wrong = call | {"topk_ids": call["topk_ids"] + 90}
        ac.fused_moe(**wrong)
        level("debug")
        for _ in range(2):
            with pytest.raises(ac.InvalidArgument, match="topk_ids: got ids from"):
                ac.fused_moe(**wrong)
        level(checks)
        ac.fused_moe(**wrong)

    def test_an_error_of_aiters_names_the_call(self, ready, monkeypatch):
        call, _ = ready

        def failing(*args, **kwargs):
            raise RuntimeError("no kernel")

        monkeypatch.setattr(sys.modules["aiter.fused_moe"], "fused_moe", failing)
        with pytest.raises(RuntimeError, match="no kernel") as caught:
            ac.fused_moe(**call)
        assert "5 tokens, 4 experts, hidden 256" in str(caught.value.__cause__)

    def test_layers_that_are_gone_leave_nothing(self, ready, shuffled):
        call, seen = ready
        seen.clear()
        for seed in range(4):
            ac.fused_moe(**shuffled(seed=seed))
        seen.clear()
        known = FUSED_MOE.calls(dict.fromkeys(FUSED_MOE.form.names)).known
        assert known is None or set(known) == {id(call["w1"])}

    def test_several_threads(self, ready, shuffled):
        _, _ = ready
        calls = [shuffled(seed=seed) | {"swiglu_limit": limit} for seed in range(3) for limit in (None, 2.0, 5.0)]
        failures = []

        def work(shift):
            for turn in range(20):
                call = calls[(turn + shift) % len(calls)]
                if ac.fused_moe(**call) is not call["hidden_states"]:
                    failures.append(call)

        threads = [threading.Thread(target=work, args=(shift,)) for shift in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures


def test_with_checks_off_a_known_layer_sends_what_it_is_given(arrivals, shuffled, level):
    """What the documentation of `settings` says: errors are then AITER's own, and `ac.refresh()` looks again."""
    level("off")
    seen, call = arrivals(RELEASES[0]), shuffled()
    ac.fused_moe(**call)
    bare = call["w2"].clone()
    ac.fused_moe(**call | {"w2": bare, "topk_ids": call["topk_ids"][:1]})
    assert seen[-1]["w2"] is bare
    assert len(seen[-1]["topk_ids"]) == 1
    for name in ("topk_ids", "topk_weight", "hidden_states"):
        with pytest.raises(ac.InvalidArgument, match=f"{name}: got NoneType"):
            ac.fused_moe(**call | {name: None})
    call["w1"].is_shuffled = call["w2"].is_shuffled = False
    ac.fused_moe(**call)
    ac.refresh()
    with pytest.raises(ac.LayoutUnknown):
        ac.fused_moe(**call)


def test_a_number_of_tokens_that_changes_the_decision(arrivals, shuffled, usable_on_cpu):
    """With exact_qdq, AITER serves the batches for which it takes the format, and the emulation the others."""
    seen = arrivals(RELEASES[0])
    sizes = {"hidden_size": 256, "intermediate_size": 256, "num_experts": 4, "top_k": 2}
    config = ac.MoEConfig(**sizes, activation="swigluoai_uninterleave", activation_format="mxfp4", exact_qdq=True)
    codes = [ac.quantize(torch.ones(4, rows, 256), "mxfp4") for rows in (512, 256)]
    weights = ac.prepare_weights(
        *(one.codes for one in codes), *(one.scales for one in codes), config=config, backend="aiter"
    )
    reached = []
    for tokens in (1, 256, 255, 300, 2, 4000, 256, 1):
        routing = (torch.ones(tokens, 2), torch.zeros(tokens, 2, dtype=torch.int32))
        before = len(seen)
        ac.fused_experts(torch.ones(tokens, 256).bfloat16(), weights, *routing, config=config)
        reached.append(len(seen) > before)
    assert reached == [False, True, False, True, False, True, True, False]


SIZES = {"hidden_size": 64, "intermediate_size": 32, "num_experts": 6, "top_k": 2, "weight_format": "bf16"}


class TestFusedExperts:
    @pytest.fixture
    def given(self, make_layer, without_aiter):
        layer = make_layer("bf16", experts=6)
        config = ac.MoEConfig(**SIZES)
        weights = ac.prepare_weights(layer.call["w1"], layer.call["w2"], config=config)
        names = ("hidden_states", "topk_weight", "topk_ids")
        hidden_states, topk_weights, topk_ids = (layer.call[name] for name in names)
        return {
            "hidden_states": hidden_states,
            "weights": weights,
            "topk_weights": topk_weights,
            "topk_ids": topk_ids,
            "config": config,
        }

    def changes(self, given):
        config, weights = given["config"], given["weights"]
        return {
            "hidden_states": [given["hidden_states"].float(), given["hidden_states"][:2], None],
            "weights": [
                dataclasses.replace(weights, bias2=torch.ones(6, 64)),
                dataclasses.replace(weights, w1=weights.w1 * 2),
                dataclasses.replace(weights, layout="shuffle_16x16"),
                dataclasses.replace(weights, w1=weights.w1.half(), w2=weights.w2.half()),
                weights.w1,
            ],
            "topk_weights": [given["topk_weights"].double(), given["topk_weights"][:, :1]],
            "topk_ids": [given["topk_ids"].long(), given["topk_ids"][:, :1]],
            "config": [
                dataclasses.replace(config, activation="gelu"),
                dataclasses.replace(config, limit=0.01),
                dataclasses.replace(config, top_k=1),
                dataclasses.replace(config, apply_router_weight_on_input=True),
                dataclasses.replace(config),
                None,
            ],
            "expert_map": [torch.arange(6), torch.tensor([5, 4, 3, 2, 1, 0]), torch.tensor([0, 0, 0, 0, 0, 1]), 3],
            "num_local_tokens": [torch.tensor([2]), torch.tensor([2.0]), 2],
            "a1_scale": [torch.ones(1), 1.0],
            "a2_scale": [torch.ones(1), 1.0],
            "dtype": [torch.float32, torch.float16, torch.int8],
            "padding_convention": ["vllm", "x", 3],
            "backend": ["emulation", "torch", "aiter", "x"],
            "numerics": ["ocp", ac.numerics("ocp"), "x"],
        }

    def outcome(self, given):
        try:
            return ac.fused_experts(**given).tolist()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
            return type(error), str(error)

    @pytest.mark.parametrize("checks", ["off", "metadata"])
    def test_one_argument_changes_from_call_to_call(self, given, level, checks):
        level(checks)
        changes = self.changes(given)
        assert set(changes) == set(FUSED_EXPERTS.form.names)
        for name, values in changes.items():
            variants = [given, *(given | {name: value} for value in values)]
            expected = []
            for variant in variants:
                forget_prepared_calls()
                expected.append(self.outcome(variant))
            forget_prepared_calls()
            for _ in range(2):
                for index, variant in enumerate(variants):
                    if checks == "off" and isinstance(expected[index], tuple):
                        continue
                    assert self.outcome(variant) == expected[index], (name, index)
                    assert self.outcome(given) == expected[0], (name, index)

    @pytest.mark.parametrize("checks", ["off", "metadata"])
    def test_a_map_that_changes_in_place(self, given, level, checks):
        level(checks)
        expert_map = torch.arange(6)
        first = self.outcome(given | {"expert_map": expert_map})
        assert self.outcome(given | {"expert_map": expert_map}) == first == self.outcome(given)
        expert_map.copy_(torch.tensor([5, 4, 3, 2, 1, 0]))
        reversed_map = self.outcome(given | {"expert_map": expert_map})
        assert reversed_map != first
        ac.refresh()
        assert self.outcome(given | {"expert_map": expert_map}) == reversed_map
        expert_map[0] = 3
        assert self.outcome(given | {"expert_map": expert_map})[0] is ac.InvalidArgument


def test_a_mask_that_changes_in_place(make_layer, without_aiter):
    call = make_layer("bf16").call | {"expert_mask": torch.ones(4, dtype=torch.int32)}
    assert torch.equal(ac.fused_moe(**call), ac.fused_moe(**call))
    call["expert_mask"][1] = 0
    with pytest.raises(ac.InvalidArgument, match="expert_mask: got 3 local experts"):
        ac.fused_moe(**call)


@pytest.mark.parametrize("checks", ["off", "metadata"])
def test_compiled_and_eager_calls_take_turns(make_layer, without_aiter, level, checks):
    level(checks)
    torch.compiler.reset()
    layer = make_layer()
    rest = layer.without("hidden_states")
    traced = torch.compile(lambda tokens: ac.fused_moe(tokens, **rest), fullgraph=True, backend="aot_eager")
    expected = ac.fused_moe(**layer.call)
    for _ in range(3):
        assert torch.equal(ac.fused_moe(**layer.call), expected)
        assert torch.equal(traced(layer.call["hidden_states"]), expected)
    torch.compiler.reset()


@pytest.mark.parametrize("checks", ["off", "metadata"])
def test_a_path_that_strides_rule_out_is_not_taken(make_layer, without_aiter, level, checks, monkeypatch):
    """A fast path of the emulation takes tokens whose elements follow each other, and no more than so many experts."""
    level(checks)

    def against(candidate, *_):
        few = candidate.topk_ids.shape[-1] <= 2
        return () if candidate.hidden_states.stride(-1) == 1 and few else ("not so",)

    monkeypatch.setitem(decide._FAST_PATHS, "compiled", against)
    taken = []
    for path in ("compiled", "torch"):
        monkeypatch.setitem(run._PATHS, path, lambda request, path=path: taken.append(path))
    call = make_layer().call
    strided = call | {"hidden_states": call["hidden_states"].t().contiguous().t()}
    more = call | {name: call[name].repeat(1, 2) for name in ("topk_ids", "topk_weight")}
    for _ in range(2):
        for one in (call, strided, more):
            ac.fused_moe(**one)
    assert taken == ["compiled", "torch", "torch"] * 2


@pytest.mark.parametrize("name", ["w1", "w2", "w1_scale", "w2_scale"])
def test_a_path_that_an_address_rules_out_is_not_taken(make_layer, without_aiter, monkeypatch, name):
    """The Triton path fetches weights that begin at a multiple of 16 bytes; slices of a larger tensor may not."""
    monkeypatch.setitem(preparing._ALIGNMENT, "cpu", 16)
    monkeypatch.setitem(decide._FAST_PATHS, "compiled", lambda candidate, *_: (
        ("not aligned",) if getattr(candidate, name).data_ptr() % 16 else ()))  # fmt: skip
    taken = []
    for path in ("compiled", "torch"):
        monkeypatch.setitem(run._PATHS, path, lambda request, path=path: taken.append(path))
    aligned = make_layer().call
    shifted = aligned[name].new_zeros(aligned[name].numel() + 1)[1:].view(aligned[name].shape)
    for first, second in ((aligned[name], shifted), (shifted, aligned[name])):
        ac.refresh()
        taken.clear()
        for _ in range(2):
            for tensor in (first, second):
                ac.fused_moe(**aligned | {name: tensor})
        assert taken == ["torch" if tensor is shifted else "compiled" for tensor in (first, second)] * 2


def test_fake_tensors_after_real_ones(make_layer, without_aiter):
    from torch._subclasses import FakeTensorMode

    layer = make_layer()
    ac.fused_moe(**layer.call)
    with FakeTensorMode() as mode:
        fakes = {
            name: mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
            for name, value in layer.call.items()
        }
        assert tuple(ac.fused_moe(**fakes).shape) == tuple(layer.call["hidden_states"].shape)


def test_a_warning_is_given_once_and_shows_the_caller(aiter_stub, make_layer):
    aiter_stub("0.1.13.post1")
    call = make_layer("bf16").call | {"weight_layout": "logical", "swiglu_limit": 2.0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            ac.fused_moe(**call)
    assert [warning.filename for warning in caught] == [__file__]
