"""On every release each argument arrives with its meaning, or the refusal names the capability that is missing."""

import inspect
import warnings

import pytest
import torch

import aiter_compat as ac
from stub_wheels.sample_calls import SampleCall, sample_calls

_expected: dict[str, torch.Tensor] = {}


def parameters(release_surface) -> set[str]:
    return {parameter.name for parameter in release_surface.parameters("aiter.fused_moe.fused_moe")}


def lacking(call: SampleCall, known: set[str]) -> set[str]:
    """Capabilities that the call needs and a release with these keywords has not."""
    missing = {name for name in call.needs if name not in known}
    separated_swiglu = (
        call.arguments.get("activation") == "swiglu" and call.arguments.get("gate_mode", "separated") == "separated"
    )
    if separated_swiglu and "gate_mode" not in known:  # 0.1.13 reads SwiGLU as interleaved and cannot be told
        missing.add("gate_mode")
    return missing


def emulated(call: SampleCall) -> torch.Tensor:
    """The same call by the emulation, once for all releases: the logical weights are the same on each."""
    if call.name not in _expected:
        arguments = call.reference_arguments | {"weight_layout": "logical"}
        for name in ("w1", "w2"):
            if getattr(arguments[name], "is_shuffled", False):
                arguments.pop("weight_layout", None)
        _expected[call.name] = ac.fused_moe(**arguments, backend="emulation", activation_qdq="none")
    return _expected[call.name]


@pytest.mark.parametrize("name", [
    "unquantised silu", "unquantised gelu", "unquantised swiglu", "biases", "expert mask",
    "weights applied in stage 1", "tokens that exist", "output dtype", "pads", "tuning", "limit on silu",
    "no limit on swiglu", "mxfp4 logical", "mxfp4 shuffled", "mxfp4 separated swiglu with limit and bias",
    "mxfp4 interleaved swiglu with bias", "mxfp4 interleaved silu", "fp8 per_token", "fp8 per_tensor",
    "fp8 per_128x128",
])  # fmt: skip
def test_a_call_arrives_whole_or_is_refused(aiter_stub, sample, release, name):
    aiter_stub(release)
    call = sample(name)
    missing = lacking(call, parameters(ac.surface()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.AiterCompatWarning)  # quirks of kernels, tested on their own
        if missing:
            with pytest.raises(ac.UnsupportedByAiter) as caught:
                ac.fused_moe(**call.arguments, backend="aiter")
            for capability in missing:
                assert f"capability {capability}, from v0.1.14 on" in str(caught.value)
                assert f"AITER {release}" in str(caught.value)
            return
        out = ac.fused_moe(**call.arguments, backend="aiter")
    expected = emulated(call)
    assert out.dtype == expected.dtype
    out, expected = out[: call.rows].double(), expected[: call.rows].double()
    assert (out - expected).norm() / expected.norm() < 6e-3


def test_the_list_above_is_every_sample_call(aiter_stub):
    aiter_stub("0.1.15.post3")
    marks = test_a_call_arrives_whole_or_is_refused.pytestmark
    assert [call.name for call in sample_calls()] == list(marks[0].args[1])


def test_arguments_go_by_position_and_by_name(aiter_stub, sample, release):
    aiter_stub(release)
    call = sample("weights applied in stage 1").arguments
    names = list(inspect.signature(ac.fused_moe).parameters)[:13]
    values = {"expert_mask": None, "activation": "gelu", "quant_type": ac.QuantType.No} | call
    keyword = ac.fused_moe(**values, backend="aiter")
    assert torch.equal(ac.fused_moe(*(values.get(name) for name in names), backend="aiter"), keyword)
    assert torch.equal(ac.fused_moe(**values | {"activation": 1, "quant_type": 0}, backend="aiter"), keyword)
    members = {"activation": ac.ActivationType.Gelu, "quant_type": ac.QuantType(0)}
    assert torch.equal(ac.fused_moe(**values | members, backend="aiter"), keyword)


SITUV2 = {"activation": "situv2", "weight_layout": "logical"}


@pytest.mark.parametrize("numbers", [{}, {"beta": 2.0}, {"linear_beta": 3.0}, {"beta": 2.0, "linear_beta": 3.0}])
def test_situv2_and_its_numbers(aiter_stub, sample, release, numbers):
    aiter_stub(release)
    call = sample("unquantised silu").arguments | SITUV2 | numbers
    if "beta" not in parameters(ac.surface()):
        with pytest.raises(ac.UnsupportedByAiter, match=r"Situv2.*capability situv2, from v0.1.19 on"):
            ac.fused_moe(**call, backend="aiter")
        return
    out = ac.fused_moe(**call, backend="aiter")
    expected = ac.fused_moe(**call, backend="emulation", activation_qdq="none")
    assert (out - expected).float().norm() / expected.float().norm() < 6e-3


def test_a_shared_expert(aiter_stub, sample, release):
    aiter_stub(release)
    call = dict(sample("mxfp4 logical").arguments)
    call["topk_ids"] = call["topk_ids"].clone()
    call["topk_ids"][:, 0] = 3
    call["topk_ids"][:, 1] %= 3
    generator = torch.Generator().manual_seed(5)
    shared = {}
    for name, rows, columns in (("w1", 512, 256), ("w2", 256, 256)):  # MXFP8, whatever the routed experts are
        codes = torch.randn(1, rows, columns, generator=generator).to(torch.float8_e4m3fn)
        scale = torch.randint(121, 124, (rows, columns // 32), generator=generator)
        shared |= {f"shared_{name}": codes, f"shared_{name}_scale": scale.to(torch.uint8)}
    call |= shared | {"shared_expert_id": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.AiterCompatWarning)
        if "shared_w1" not in parameters(ac.surface()):
            with pytest.raises(ac.UnsupportedByAiter, match=r"capability shared_expert, from v0.1.19.post1 on"):
                ac.fused_moe(**call, backend="aiter")
            return
        out = ac.fused_moe(**call, backend="aiter")
    expected = ac.fused_moe(**call, backend="emulation", activation_qdq="none")
    without = {name: value for name, value in call.items() if not name.startswith("shared_")}
    assert (out - expected).float().norm() / expected.float().norm() < 6e-3
    lost = ac.fused_moe(**without, backend="emulation", activation_qdq="none")
    assert (lost - expected).float().norm() / expected.float().norm() > 1e-2


def test_members_that_no_recorded_release_has(aiter_stub, sample, release):
    aiter_stub(release)
    call = sample("unquantised silu").arguments
    for activation in ("gelu_tanh", "swiglustep", "relu2"):
        with pytest.raises(ac.UnsupportedByAiter, match=f"activation={activation}.*has no such member"):
            ac.fused_moe(**call, activation=activation, backend="aiter")


def test_keywords_of_unrecorded_releases(aiter_stub, sample, release):
    aiter_stub(release)
    call = sample("unquantised silu").arguments
    assert ac.fused_moe(**call, stage2_scatter=None, backend="aiter") is not None
    with pytest.raises(ac.UnsupportedByAiter, match=r"stage2_scatter: .* takes no such keyword"):
        ac.fused_moe(**call, stage2_scatter=True, backend="aiter")


def test_fp32_results_are_an_emulation_feature(aiter_stub, sample, release):
    aiter_stub(release)
    call = sample("unquantised silu").arguments
    with pytest.raises(ac.UnsupportedByAiter, match=r"dtype=torch.float32"):
        ac.fused_moe(**call, dtype=torch.float32, backend="aiter")
