"""Beside something else under the name aiter: PyPI's package, whose version sorts above AITER's, or a bare folder."""

import subprocess
import sys

import pytest

import aiter_compat as ac

SAID = {
    "foreign": "another package called aiter, not AITER: aiter 0.13.20191203",
    "namespace": "a bare folder called aiter, not AITER, at",
}


@pytest.fixture
def said(installed) -> str:
    """What a person is told."""
    return SAID[installed.expectation]


def test_it_is_recognised_without_being_imported(installed):
    found = ac.installation()
    assert (found.kind, found.version) == (installed.expectation, installed.version)
    assert "aiter" not in sys.modules
    assert not ac.supports("fused_moe")


def test_calls_compute_without_it(plain_call, said):
    call, expected = plain_call
    output = ac.fused_moe(**call).float()
    assert (output - expected).norm() / expected.norm() < 5e-3
    decision = ac.explain(**call)
    assert decision.backend == "emulation"
    assert said in str(decision)
    assert "aiter" not in sys.modules


def test_asking_for_aiter_is_refused(plain_call, said):
    with pytest.raises(ac.AiterImportError) as refusal:
        ac.fused_moe(**plain_call[0], backend="aiter")
    assert said in str(refusal.value)


def test_enums_are_twins():
    assert ac.ActivationType.Swiglu.value == 2
    assert ac.GateMode.INTERLEAVE.value == "interleave"
    assert "aiter" not in sys.modules


def test_doctor_says_so(said):
    run = subprocess.run([sys.executable, "-m", "aiter_compat", "doctor"], capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert said in " ".join(run.stdout.split())
