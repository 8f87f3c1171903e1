"""What judges the real releases finds each thing that may go wrong on the way; tried out on a made-up release."""

import dataclasses
import enum
import math
from types import SimpleNamespace

import pytest
import torch

from conformance.calls import Call, calls
from conformance.release import Release


class ActivationType(enum.Enum):
    Silu = 0
    Gelu = 1
    Swiglu = 2


class QuantType(enum.Enum):
    No = 0
    per_1x32 = 3


def fused_moe(hidden_states, w1, w2, topk_weight, topk_ids, expert_mask=None, swiglu_limit=None, gate_mode="separated"):
    """Only its signature counts."""


def torch_moe_stage1(hidden, w1, w2, topk_weight, topk_ids, *, dtype, activation, swiglu_limit):
    gate, up = (hidden @ w1[0].T).split(1, dim=-1)
    limit = 7.0 if activation is ActivationType.Swiglu and swiglu_limit is None else swiglu_limit
    up = up if limit is None else up.clamp(-limit, limit)
    return torch.sigmoid(gate) * (up + 1 if activation is ActivationType.Swiglu else up)


@pytest.fixture
def release() -> Release:
    moe = SimpleNamespace(fused_moe=fused_moe, torch_moe_stage1=torch_moe_stage1)
    return Release(moe, SimpleNamespace(ActivationType=ActivationType, QuantType=QuantType))


@pytest.fixture
def call() -> Call:
    return call_of("swiglu, MXFP4")


def call_of(kind: str) -> Call:
    return next(one for one in calls() if one.kind == kind)


DEFAULTS = {"expert_mask": None, "doweight_stage1": False, "moe_sorting_dispatch_policy": 0, "hidden_pad": 0}


def arrived_of(call: Call) -> dict:
    """What must arrive, by a wrapper that makes no mistake."""
    weights = {name: call.arrives[name].view(torch.uint8) for name in ("w1", "w2")}
    for weight in weights.values():
        weight.is_shuffled = call.shuffled
    weights = {name: weight.view(call.arrives[name].dtype) for name, weight in weights.items()}
    for weight in weights.values():
        weight.is_shuffled = call.shuffled
    named = {"activation": 2, "quant_type": 3, "gate_mode": "separated", "swiglu_limit": None}
    return {**DEFAULTS, **call.arrives, **weights, **named}


def wrong(release, call, operator="fused_moe_", **changes):
    return release.wrong_in(call, operator, {**arrived_of(call), **changes}, DEFAULTS)


def test_nothing_is_wrong_with_what_arrives_whole(release, call):
    assert wrong(release, call) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"hidden_pad": 128}, "hidden_pad: 128 instead of 0"),
        ({"doweight_stage1": 0}, "doweight_stage1: 0 instead of False"),
        ({"gate_mode": "interleave"}, "gate_mode: 'interleave' instead of 'separated'"),
        ({"activation": 0}, "activation: 0 instead of 2"),
        ({"quant_type": QuantType.per_1x32}, "quant_type: <QuantType.per_1x32: 3> instead of 3"),
        ({"dtype": torch.float16}, "dtype: torch.float16 instead of torch.bfloat16"),
        ({"topk_weight": None}, "topk_weight: None instead of torch.float32 [4, 2]"),
        ({"topk_ids": torch.zeros(4, 2, dtype=torch.int64)}, "topk_ids: torch.int64 [4, 2] instead of torch.int32"),
        ({"w1_scale": torch.zeros(2048, 8, dtype=torch.uint8)}, "w1_scale: torch.uint8"),
        ({"swiglu_limit": 0.0}, "swiglu_limit: 0.0 is read as 0.0 instead of 7.0"),
        ({"swiglu_limit": math.inf}, "is read as inf instead of 7.0"),
    ],
)
def test_each_thing_that_arrives_otherwise_is_told(release, call, changes, told):
    (fault,) = wrong(release, call, **changes)
    assert told in fault


def test_a_lost_argument_is_told(release):
    call = dataclasses.replace(call_of("doweight_stage1, MXFP4"), activation="swiglu")
    (fault,) = wrong(release, call, doweight_stage1=False)
    assert fault == "doweight_stage1: False instead of True"


def test_another_value_of_the_same_tensor_is_told(release, call):
    swapped = arrived_of(call)["topk_weight"].flip(1)
    assert len(wrong(release, call, topk_weight=swapped)) == 1


def test_lost_marks_are_told(release, call):
    bare = {
        name: torch.nn.Parameter(call.arrives[name].view(torch.uint8), requires_grad=False) for name in ("w1", "w2")
    }
    bare = {name: weight.view(call.arrives[name].dtype) for name, weight in bare.items()}
    assert wrong(release, call, **bare) == ["is_shuffled of w1 is not True", "is_shuffled of w2 is not True"]


def test_the_wrong_operator_is_told(release, call):
    assert wrong(release, call, operator="fhmoe_") == ["the operator fhmoe_ was reached"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("swiglu, MXFP4", set()),
        ("situv2, MXFP4", {"Situv2"}),
        ("gelu_tanh, MXFP4", {"gelu_tanh"}),
        ("hidden_pad, MXFP4", set()),
        ("silu, FP8 per_token", {"per_token"}),
        ("quant_dtype_a, unquantised", {"quant_dtype_a"}),
        ("limit another, silu, MXFP4", set()),
    ],
)
def test_what_a_release_cannot_express_is_read_from_its_objects(release, kind, words):
    assert release.against(call_of(kind)) == words


def test_without_gate_mode_only_what_the_release_implies_can_be_expressed():
    def older(hidden_states, w1, w2, topk_weight, topk_ids):
        """Only its signature counts."""

    package = SimpleNamespace(ActivationType=ActivationType, QuantType=QuantType)
    release = Release(SimpleNamespace(fused_moe=older), package)
    against = {kind: release.against(call_of(kind)) for kind in (
        "silu, MXFP4", "silu, MXFP4 interleaved", "swiglu, MXFP4", "swiglu, MXFP4 interleaved", "swiglu, unquantised",
        "limit another, silu, MXFP4",
    )}  # fmt: skip
    assert against == {
        "silu, MXFP4": set(),
        "silu, MXFP4 interleaved": {"gate_mode"},
        "swiglu, MXFP4": {"gate_mode"},
        "swiglu, MXFP4 interleaved": set(),
        "swiglu, unquantised": {"gate_mode"},
        "limit another, silu, MXFP4": {"swiglu_limit"},
    }
