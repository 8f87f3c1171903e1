"""Beside a release older than those that are tested: it is recognised, told as too old, and calls are emulated."""

import importlib
import subprocess
import sys

import pytest

import aiter_compat as ac

REASON = "the release is too old: before v0.1.13 calls are adapted to it and not tested"


@pytest.fixture
def journal():
    """What AITER's own function received last."""
    journal = importlib.import_module("aiter.stub_runtime.journal")
    journal.last_call = None
    return journal


@pytest.fixture
def distance():
    return lambda output, expected: float((output.float() - expected).norm() / expected.norm())


def test_the_files_say_what_is_installed(installed):
    found = ac.installation()
    assert (found.kind, found.version, found.distribution) == ("present", installed.version, "amd-aiter")
    assert not ac.supports("gate_mode_enum")
    assert ac.supports("fused_moe")


def test_calls_are_emulated_and_say_why_not_on_aiter(plain_call, installed, journal, distance):
    call, expected = plain_call
    assert distance(ac.fused_moe(**call, weight_layout="logical"), expected) < 5e-3
    decision = ac.explain(**call, weight_layout="logical")
    assert (decision.backend, decision.release) == ("emulation", installed.version)
    assert "release_too_old" in decision.quirks
    [rejection] = decision.rejected
    assert rejection.backend == "aiter"
    assert any(REASON in reason for reason in rejection.reasons)
    assert journal.last_call is None


def test_a_device_that_aiter_serves_changes_nothing_of_that(plain_call, journal, monkeypatch, distance):
    monkeypatch.setattr("aiter_compat.moe.decide.device_refusal", lambda device, quant_type: None)
    call, expected = plain_call
    assert REASON in ac.explain(**call, weight_layout="logical").reason
    assert distance(ac.fused_moe(**call, weight_layout="logical"), expected) < 5e-3
    assert journal.last_call is None


def test_the_users_word_for_aiter_is_heeded_and_warned_about(plain_call, journal, distance):
    call, expected = plain_call
    with pytest.warns(ac.AiterCompatWarning, match=f"{REASON}.*install v0.1.13 or newer"):
        output = ac.fused_moe(**call, backend="aiter")
    assert distance(output, expected) < 5e-3
    assert journal.last_call is not None
    with pytest.raises(ac.UnsupportedByAiter, match="capability swiglu_limit"):
        ac.fused_moe(**call, swiglu_limit=2.0, backend="aiter")


def test_its_enums_are_its_own():
    assert ac.ActivationType is importlib.import_module("aiter").ActivationType
    assert ac.GateMode.INTERLEAVE.value == "interleave"  # a twin: this release has none


def test_doctor_names_the_release_and_what_is_wrong_with_it(installed):
    run = subprocess.run([sys.executable, "-m", "aiter_compat", "doctor"], capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert f"AITER {installed.version}" in run.stdout
    assert f"release_too_old: {REASON}" in " ".join(run.stdout.split())
