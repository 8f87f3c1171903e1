"""Beside a working release: what aiter_compat sends there is what the caller asked for, or is refused by name."""

import importlib
import inspect
import json
import subprocess
import sys

import pytest
import torch
from packaging.version import Version

import aiter_compat as ac
from stub_wheels.sample_calls import SampleCall, sample_calls

pytestmark = pytest.mark.filterwarnings("ignore::aiter_compat.AiterCompatWarning")  # quirks of kernels a stub has not

TOLERANCE = 5e-3
"""The emulation rounds to bf16 between the GEMMs, a stub does not."""


@pytest.fixture(scope="module")
def calls() -> list[SampleCall]:
    return sample_calls()


@pytest.fixture
def journal():
    return importlib.import_module("aiter.stub_runtime.journal")


def distance(output: torch.Tensor, expected: torch.Tensor, rows: int) -> float:
    output, expected = output[:rows].float(), expected[:rows].float()
    return float((output - expected).norm() / expected.norm())


def known() -> set[str]:
    return set(inspect.signature(importlib.import_module("aiter.fused_moe").fused_moe).parameters)


def test_installation_is_the_factors_release_and_was_not_imported(installed):
    program = (
        "import json, sys, aiter_compat as ac\n"
        "found = ac.installation().as_dict()\n"
        "ac.capabilities()\n"
        "assert not {'aiter', 'torch'} & set(sys.modules)\n"
        "print(json.dumps(found))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    assert (found["kind"], found["version"], found["distribution"]) == ("present", installed.version, "amd-aiter")
    assert bool(found["warnings"]) is Version(installed.version).is_devrelease


def test_capabilities_are_those_of_the_signature_whatever_the_number_says(installed):
    for capability in ("gate_mode", "swiglu_limit"):
        assert ac.supports(capability) == (capability in known())
    promised = Version(installed.version) >= Version("0.1.14")  # the release that brought both
    assert ac.supports("gate_mode") is (promised is not Version(installed.version).is_devrelease)


def test_enums_are_aiters_own():
    assert ac.ActivationType is importlib.import_module("aiter").ActivationType
    assert ac.QuantType is importlib.import_module("aiter.ops.enum").QuantType
    path = ac.surface().first(
        ["aiter.ops.flydsl.moe_common.GateMode", "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode"]
    )
    assert ac.GateMode is importlib.import_module(path.rpartition(".")[0]).GateMode


def test_every_call_equals_the_reference_or_names_the_missing_capability(calls):
    served = []
    for call in calls:
        missing = set(call.needs) - known()
        if missing:
            with pytest.raises(ac.UnsupportedByAiter) as refusal:
                ac.fused_moe(**call.arguments, backend="aiter")
            for capability in missing:
                assert f"capability {capability}" in str(refusal.value), call.name
        else:
            output = ac.fused_moe(**call.arguments, backend="aiter")
            expected = ac.fused_moe(**call.reference_arguments, backend="emulation", activation_qdq="none")
            assert output.dtype == expected.dtype
            assert distance(output, expected, call.rows) < TOLERANCE, call.name
            served.append(call)
    arguments = {name for call in served for name in call.arguments} - {"weight_layout", *known()}
    assert arguments <= {"gate_mode"}  # left out where the release reads the weights that way anyhow


def test_auto_computes_every_call(calls):
    for call in calls:
        if "hidden_pad" in call.arguments:  # its pads hold garbage, which the emulation, computing over them, shows
            continue
        output = ac.fused_moe(**call.arguments, activation_qdq="none")
        expected = ac.fused_moe(**call.reference_arguments, backend="emulation", activation_qdq="none")
        assert distance(output, expected, call.rows) < TOLERANCE, call.name


def test_separated_swiglu_never_reaches_a_release_without_gate_mode(calls, journal):
    separated = [call for call in calls if call.arguments.get("activation") == "swiglu" and "gate_mode" in call.needs]
    assert separated
    if "gate_mode" in known():
        ac.fused_moe(**separated[0].arguments, backend="aiter")
        assert journal.last_call["gate_mode"] == "separated"
        return
    journal.last_call = None
    for call in separated:
        with pytest.raises(ac.UnsupportedByAiter, match="capability gate_mode"):
            ac.fused_moe(**call.arguments, backend="aiter")
        ac.fused_moe(**call.arguments)
    assert journal.last_call is None


def test_situv2_computes_with_its_own_betas_or_is_refused(calls):
    """AITER's kernels take betas that are left out for 1.0, so they must arrive although the caller left them out."""
    silu = next(call for call in calls if call.name == "unquantised silu")
    arguments = silu.arguments | {"activation": "situv2"}
    if not ac.supports("situv2"):
        with pytest.raises(ac.UnsupportedByAiter, match="capability situv2"):
            ac.fused_moe(**arguments, backend="aiter")
        return
    for betas in ({}, {"beta": 2.0, "linear_beta": 3.0}):
        output = ac.fused_moe(**arguments, **betas, backend="aiter")
        expected = ac.fused_moe(**(silu.reference_arguments | {"activation": "situv2"}), **betas, backend="emulation")
        assert distance(output, expected, silu.rows) < TOLERANCE


def test_arguments_that_only_tune_arrive(calls, journal):
    tuning = next(call for call in calls if call.name == "tuning")
    ac.fused_moe(**tuning.arguments, splitk=2, backend="aiter")
    sent = {name: journal.last_call[name] for name in ("block_size_M", "moe_sorting_dispatch_policy", "splitk")}
    assert sent == {"block_size_M": 64, "moe_sorting_dispatch_policy": 1, "splitk": 2}


def test_names_members_and_ints_say_the_same(calls):
    call = next(call for call in calls if call.name == "fp8 per_token")
    plain = ac.fused_moe(**call.arguments, backend="aiter")
    for quant_type in (ac.QuantType.per_Token, ac.QuantType.per_Token.value, "PER_TOKEN"):
        for activation in (ac.ActivationType.Silu, ac.ActivationType.Silu.value, "Silu"):
            chosen = {"quant_type": quant_type, "activation": activation}
            assert torch.equal(ac.fused_moe(**(call.arguments | chosen), backend="aiter"), plain)


def test_a_function_replaced_at_run_time_is_the_one_called(calls, monkeypatch):
    arguments = calls[0].arguments
    replaced = torch.full_like(arguments["hidden_states"], 3.0)
    monkeypatch.setattr("aiter.fused_moe.fused_moe", lambda *args, **kwargs: replaced)
    assert torch.equal(ac.fused_moe(**arguments, backend="aiter"), replaced)


def test_an_output_dtype_that_aiter_lacks_is_refused(calls):
    with pytest.raises(ac.UnsupportedByAiter, match="dtype"):
        ac.fused_moe(**calls[0].arguments, dtype=torch.float32, backend="aiter")


def test_plain_call_equals_a_dense_computation(plain_call):
    call, expected = plain_call
    assert distance(ac.fused_moe(**call, backend="aiter"), expected, 5) < TOLERANCE
