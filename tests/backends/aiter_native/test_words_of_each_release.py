"""One meaning, each release's own words: limits, gate modes, biases and layout marks as they arrive at AITER."""

import importlib
import math
import warnings

import pytest
import torch

import aiter_compat as ac

LIMIT_SINCE = "0.1.14"


@pytest.fixture
def sent(journal, release, sample):
    """What arrives when a sample call with changes is made: `sent(name, **changes)`."""
    written = journal(release)

    def make(name, **changes):
        written.last_call = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ac.AiterCompatWarning)  # of quirks
            ac.fused_moe(**sample(name).arguments | {"backend": "aiter"} | changes)
        return written.last_call

    return make


def default_of(name):
    """The release's own default of a parameter; None also when it has none."""
    parameter = ac.surface().parameter("aiter.fused_moe.fused_moe", name)
    return None if parameter is None else parameter.default


@pytest.mark.parametrize("limit", [None, 0.0, 7.0])
def test_the_activations_own_limit_is_the_releases_default(sent, release, limit):
    for name, changes in (("mxfp4 interleaved swiglu with bias", {}), ("unquantised silu", {"activation": "silu"})):
        if name == "unquantised silu" and limit == 7.0:
            continue
        arrived = sent(name, swiglu_limit=limit, **changes).get("swiglu_limit")
        expected = {"0.0": 0.0, "None": None, None: None}[default_of("swiglu_limit")]
        assert (arrived, type(arrived)) == (expected, type(expected))


def test_other_limits_arrive_as_they_are_or_are_refused(sent, release):
    for limit in (2.0, math.inf, 3):
        if default_of("swiglu_limit") is None:
            with pytest.raises(ac.UnsupportedByAiter, match=rf"swiglu_limit={float(limit)}.*capability swiglu_limit"):
                sent("mxfp4 interleaved swiglu with bias", swiglu_limit=limit)
        else:
            arrived = sent("mxfp4 interleaved swiglu with bias", swiglu_limit=limit)["swiglu_limit"]
            assert (arrived, type(arrived)) == (limit, float)
    if default_of("swiglu_limit") is None:
        with pytest.raises(ac.UnsupportedByAiter, match=r"swiglu_limit=7\.0"):
            sent("unquantised silu", swiglu_limit=7.0)  # SiLU has no clamp there
        assert "swiglu_limit" not in sent("unquantised silu", swiglu_limit=math.inf)  # no clamp: what it does anyway


def test_gate_mode_arrives_as_its_value(sent, release):
    if default_of("gate_mode") is None:
        for changes in ({}, {"gate_mode": None}, {"gate_mode": "separated"}):
            assert "gate_mode" not in sent("unquantised silu", **changes)
        return
    for gate_mode in (None, "separated", "SEPARATED", ac.GateMode.SEPARATED):
        arrived = sent("unquantised silu", gate_mode=gate_mode)["gate_mode"]
        assert (arrived, type(arrived)) == ("separated", str)
    assert sent("mxfp4 interleaved silu")["gate_mode"] == "interleave"
    assert sent("unquantised silu", gate_mode="mock_gate_only")["gate_mode"] == "mock_gate_only"


def test_enum_members_arrive_as_aiters_own(sent, release):
    arrived = sent("mxfp4 shuffled", activation="gelu", quant_type=3)
    package = importlib.import_module("aiter")
    assert arrived["activation"] == package.ActivationType.Gelu
    assert arrived["quant_type"] == package.QuantType.per_1x32
    assert type(arrived["activation"]) is package.ActivationType


def test_routing_arrives_as_int32_and_fp32(sent, sample, release):
    call = sample("unquantised silu").arguments
    arrived = sent("unquantised silu", topk_ids=call["topk_ids"].long(), topk_weight=call["topk_weight"].bfloat16())
    assert (arrived["topk_ids"].dtype, arrived["topk_weight"].dtype) == (torch.int32, torch.float32)


def test_biases_arrive_in_fp32(sent, sample, release):
    """Releases from 0.1.14 on raise TypeError for anything else."""
    name = "mxfp4 interleaved swiglu with bias"
    biases = {key: sample(name).arguments[key].bfloat16() for key in ("bias1", "bias2")}
    arrived = sent(name, **biases)
    for key, bias in biases.items():
        assert arrived[key].dtype == torch.float32
        assert torch.equal(arrived[key], bias.float())


def test_arguments_arrive_by_the_name_they_were_given(sent, sample, release):
    """Positions moved in v0.1.19; nothing may land in its neighbour's place."""
    changes = {
        "num_local_tokens": torch.tensor([4], dtype=torch.int32),
        "block_size_M": 64,
        "moe_sorting_dispatch_policy": 1,
        "hidden_pad": 128,
        "intermediate_pad": 64,
        "splitk": 2,
        "doweight_stage1": True,
        "dtype": torch.float16,
    }
    arrived = sent("biases", **changes)
    call = sample("biases").arguments
    assert {name: arrived[name] for name in changes} == changes
    assert all(arrived[name] is call[name] for name in ("w1", "w2", "bias1", "bias2", "hidden_states"))
    assert arrived.get("beta") is None


def test_the_stated_layout_is_marked_on_an_alias(sent, sample, release):
    call = sample("mxfp4 shuffled").arguments
    bare = {name: torch.nn.Parameter(call[name].view(torch.uint8), requires_grad=False) for name in ("w1", "w2")}
    assert not any(hasattr(weight, "is_shuffled") for weight in bare.values())  # lost, as nn.Parameter does
    arrived = sent("mxfp4 shuffled", **bare, weight_layout="shuffle_16x16")
    for name, weight in bare.items():
        assert arrived[name].is_shuffled is True
        assert arrived[name].data_ptr() == weight.data_ptr()
        assert not hasattr(weight, "is_shuffled")
    assert arrived["w1"].dtype == torch.uint8
    marked = sent("mxfp4 shuffled")
    assert all(marked[name] is call[name] for name in ("w1", "w2"))
    logical = sent("unquantised silu", weight_layout="logical")
    assert not getattr(logical["w1"], "is_shuffled", False)


class Test0113:
    """v0.1.13 has neither gate_mode nor swiglu_limit and reads SwiGLU over MXFP4 as interleaved."""

    @pytest.fixture
    def release(self):
        return "0.1.13.post1"

    def test_separated_swiglu_never_reaches_it(self, sent, sample):
        for name in ("mxfp4 shuffled", "unquantised silu"):
            for gate_mode in (None, "separated"):
                with pytest.raises(
                    ac.UnsupportedByAiter, match=r"gate_mode=separated with swiglu.*capability gate_mode"
                ):
                    sent(name, activation="swiglu", gate_mode=gate_mode)
        with pytest.raises(ac.UnsupportedByAiter, match="reads such weights as separated"):
            sent("mxfp4 interleaved silu")

    def test_separated_swiglu_is_emulated(self, sample, journal):
        written = journal("0.1.13.post1")
        call = sample("mxfp4 shuffled").arguments | {"activation": "swiglu"}
        written.last_call = None
        with pytest.warns(ac.AiterCompatWarning, match=r"emulating: gate_mode=separated with swiglu"):
            out = ac.fused_moe(**call, activation_qdq="none")
        assert written.last_call is None
        assert torch.equal(out, ac.fused_moe(**call, activation_qdq="none", backend="emulation"))

    def test_interleaved_swiglu_is_served(self, sent, sample):
        call = sample("mxfp4 interleaved swiglu with bias")
        out = ac.fused_moe(**call.arguments, backend="aiter")
        expected = ac.fused_moe(
            **call.reference_arguments, weight_layout="logical", backend="emulation", activation_qdq="none"
        )
        assert (out - expected).float().norm() / expected.float().norm() < 6e-3

    @pytest.mark.parametrize("limit", [None, 0.0, 7.0])
    def test_its_own_limit_is_served_and_is_seven(self, sent, sample, limit):
        call = dict(sample("mxfp4 interleaved swiglu with bias").arguments)
        call["hidden_states"] = call["hidden_states"] * 16  # far enough out for 7.0 to bite
        out = ac.fused_moe(**call, swiglu_limit=limit, backend="aiter")
        exact = {"activation_qdq": "none", "backend": "emulation"}
        expected = ac.fused_moe(**call, swiglu_limit=limit, **exact)
        assert (out - expected).float().norm() / expected.float().norm() < 6e-3
        unlimited = ac.fused_moe(**call, swiglu_limit=math.inf, **exact)
        assert (out - unlimited).float().norm() / unlimited.float().norm() > 2e-2
