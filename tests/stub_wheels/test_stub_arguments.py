"""A stub notices the loss of every argument, and refuses what AITER's own operator refuses."""

import importlib
import inspect

import pytest
import torch

from stub_wheels.sample_calls import SampleCall, sample_calls

TUNING = ("block_size_M", "moe_sorting_dispatch_policy", "splitk")
"""Speed only: no output can depend on them, so the journal tells."""
DEMANDED = ("hidden_states", "w1", "w2", "topk_weight", "topk_ids")
PREQUANTISED = ("a1_scale", "a2_scale")
LATER = ("beta", "linear_beta", "shared_w1", "shared_w2", "shared_w1_scale", "shared_w2_scale", "shared_expert_id")
"""Both in no sample call, since the releases before v0.1.19 lack the second: tested on their own below."""


def call_stub(call: SampleCall, **changed):
    """The stub's output, with names turned into members and arguments that it does not have left out."""
    package = importlib.import_module("aiter")
    fused_moe = importlib.import_module("aiter.fused_moe").fused_moe
    arguments = call.arguments | changed
    known = inspect.signature(fused_moe).parameters
    for name, kind in (("activation", package.ActivationType), ("quant_type", package.QuantType)):
        if name in arguments:
            members = {member.lower(): value for member, value in kind.__members__.items()}
            arguments[name] = members[arguments[name]]
    return fused_moe(**{name: value for name, value in arguments.items() if name in known})


def applicable(fused_moe) -> list[SampleCall]:
    known = set(inspect.signature(fused_moe).parameters)
    return [call for call in sample_calls() if set(call.needs) <= known]


@pytest.fixture
def fused_moe(aiter_stub, release):
    aiter_stub(release)
    return importlib.import_module("aiter.fused_moe").fused_moe


def test_losing_any_argument_shows(fused_moe):
    known = set(inspect.signature(fused_moe).parameters)
    shown = set()
    for call in applicable(fused_moe):
        full = call_stub(call)
        assert torch.isfinite(full).all(), call.name
        for name in known & set(call.shows):
            less = SampleCall(call.name, {key: value for key, value in call.arguments.items() if key != name})
            try:
                output = call_stub(less)
            except (AssertionError, TypeError, ValueError, RuntimeError):
                shown.add(name)
                continue
            distance = (output.float() - full.float()).norm() / full.float().norm()
            assert distance > 2e-2 or output.dtype != full.dtype, f"{call.name}: losing {name} does not show"
            shown.add(name)
    assert shown == known - set(DEMANDED) - set(TUNING) - set(PREQUANTISED) - set(LATER)


def test_tuning_arguments_reach_the_journal(fused_moe):
    journal = importlib.import_module("aiter.stub_runtime.journal")
    plain, tuned = (call for call in sample_calls() if call.name in ("unquantised silu", "tuning"))
    call_stub(plain)
    assert journal.last_call["block_size_M"] is None
    call_stub(tuned, splitk=3)
    assert [journal.last_call[name] for name in TUNING] == [64, 1, 3]


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("hidden_pad", None, RuntimeError, "type 'int' for argument 'hidden_pad'"),
        ("intermediate_pad", 64.0, RuntimeError, "type 'int' for argument 'intermediate_pad'"),
        ("block_size_M", "64", RuntimeError, "type 'int' for argument 'block_size_M'"),
        ("bias1", [0.0], RuntimeError, "Tensor"),
        ("dtype", torch.float32, AssertionError, "unsupported out dtype"),
        ("topk_ids", torch.zeros(6, 2, dtype=torch.int64), TypeError, "int32"),
        ("topk_weight", torch.ones(6, 2, dtype=torch.bfloat16), TypeError, "fp32"),
        ("expert_mask", torch.tensor([-1, 0, 1, 2]), ValueError, "expert_mask"),
    ],
)
def test_wrong_types_are_refused(fused_moe, name, value, error, message):
    with pytest.raises(error, match=message):
        call_stub(sample_calls()[0], **{name: value})


def test_ints_are_no_enum_members(fused_moe):
    call = sample_calls()[0].arguments
    for name in ("activation", "quant_type"):
        with pytest.raises(AttributeError, match="value"):
            fused_moe(**call, **{name: 1})


def test_what_the_release_lacks_is_a_type_error(aiter_stub):
    aiter_stub("0.1.13.post1")
    fused_moe = importlib.import_module("aiter.fused_moe").fused_moe
    for name, value in (("gate_mode", "separated"), ("swiglu_limit", 7.0)):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            fused_moe(**sample_calls()[0].arguments, **{name: value})


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15.post3"])
class TestGateModeReleases:
    def test_gate_mode_takes_values_only(self, fused_moe):
        call = sample_calls()[0]
        with pytest.raises(ValueError, match="'INTERLEAVE' is not a valid GateMode"):
            call_stub(call, gate_mode="INTERLEAVE")
        with pytest.raises(RuntimeError, match="type 'str' for argument 'gate_mode'"):
            call_stub(call, gate_mode=None)

    def test_a_limit_of_zero_is_no_limit_and_none_is_refused(self, fused_moe):
        swiglu = sample("unquantised swiglu")
        assert torch.equal(call_stub(swiglu, swiglu_limit=0.0), call_stub(swiglu))
        assert torch.equal(call_stub(swiglu, swiglu_limit=7.0), call_stub(swiglu))
        with pytest.raises(RuntimeError, match="type 'float' for argument 'swiglu_limit'"):
            call_stub(swiglu, swiglu_limit=None)


def sample(name: str) -> SampleCall:
    return next(call for call in sample_calls() if call.name == name)


def test_from_0_1_17_no_limit_is_none_and_zero_clamps_at_zero(aiter_stub):
    aiter_stub("0.1.17")
    swiglu = sample("unquantised swiglu")
    assert torch.equal(call_stub(swiglu, swiglu_limit=None), call_stub(swiglu))
    assert torch.equal(call_stub(swiglu, swiglu_limit=7.0), call_stub(swiglu))
    assert not torch.allclose(call_stub(swiglu, swiglu_limit=0.0), call_stub(swiglu))


def test_situv2_with_large_betas_is_silu_and_each_beta_counts(aiter_stub):
    aiter_stub("0.1.20.post1")
    silu = sample("unquantised silu")
    straight = {"activation": "situv2", "beta": 1e6, "linear_beta": 1e6}
    torch.testing.assert_close(call_stub(silu, **straight), call_stub(silu))
    for name in ("beta", "linear_beta"):
        bent = call_stub(silu, **(straight | {name: 1.0}))
        assert not torch.allclose(bent, call_stub(silu))
        assert torch.equal(call_stub(silu, **(straight | {name: None})), bent)  # what FlyDSL takes None for


def test_a_shared_expert_takes_the_place_of_the_last_routed_one(aiter_stub):
    aiter_stub("0.1.20.post1")
    routed = sample("mxfp4 logical")
    formats = importlib.import_module("aiter.stub_runtime.number_formats")
    shared: dict[str, object] = {"shared_expert_id": 3}
    dummies = {}
    for name in ("w1", "w2"):
        codes, scales = routed.arguments[name].view(torch.uint8), routed.arguments[f"{name}_scale"].view(torch.uint8)
        rows = codes.shape[1]
        shared[f"shared_{name}"] = formats.e2m1_pairs_to_fp32(codes[3:]).to(torch.float8_e4m3fn)  # exact
        shared[f"shared_{name}_scale"] = scales[3 * rows :]
        dummies[name] = torch.cat([codes[:3], torch.zeros_like(codes[3:])])
    assert not torch.equal(call_stub(routed, **dummies), call_stub(routed))
    assert torch.equal(call_stub(routed, **dummies, **shared), call_stub(routed))
    for name in shared:
        with pytest.raises(ValueError, match="shared expert"):
            call_stub(routed, **(shared | {name: -1 if name == "shared_expert_id" else None}))


def test_0_1_13_reads_mxfp4_swiglu_weights_as_interleaved(aiter_stub):
    aiter_stub("0.1.13.post1")
    call = next(call for call in sample_calls() if call.name.startswith("mxfp4 interleaved swiglu"))
    interleaved = call_stub(call)
    aiter_stub("0.1.15.post3")
    assert torch.equal(call_stub(call), interleaved)
    assert not torch.allclose(call_stub(call, gate_mode="separated"), interleaved)


def test_quantised_activations_take_their_scale(fused_moe):
    call = sample("fp8 per_token")
    scale = torch.full((6, 1), 0.5)
    codes = call.arguments["hidden_states"].to(torch.float8_e4m3fn)
    plain = call_stub(call, hidden_states=(codes.float() * 0.5).bfloat16(), dtype=torch.bfloat16)
    assert torch.equal(call_stub(call, hidden_states=codes, a1_scale=scale, dtype=torch.bfloat16), plain)
    assert not torch.equal(call_stub(call, hidden_states=codes, dtype=torch.bfloat16), plain)


@pytest.mark.parametrize("name", PREQUANTISED)
def test_a_static_scale_bounds_what_fp8_can_hold(fused_moe, name):
    call = sample("fp8 per_tensor")
    assert not torch.equal(call_stub(call, **{name: torch.tensor([1e-3])}), call_stub(call))
    unquantised = sample_calls()[0]
    with pytest.raises(ValueError, match=name):
        call_stub(unquantised, **{name: torch.tensor([1.0])})
