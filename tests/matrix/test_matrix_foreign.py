"""Beside PyPI's unrelated package called aiter, whose version sorts above every AITER release."""

import subprocess
import sys

import pytest

import aiter_compat as ac


def test_it_is_recognised_without_being_imported():
    found = ac.installation()
    assert (found.kind, found.version) == ("foreign", "0.13.20191203")
    assert "aiter" not in sys.modules
    assert not ac.supports("fused_moe")


def test_calls_compute_without_it(plain_call):
    call, expected = plain_call
    output = ac.fused_moe(**call).float()
    assert (output - expected).norm() / expected.norm() < 5e-3
    decision = ac.explain(**call)
    assert decision.backend == "emulation"
    assert "not AITER" in str(decision)
    assert "aiter" not in sys.modules


def test_asking_for_aiter_is_refused(plain_call):
    with pytest.raises(ac.AiterCompatError, match="not AITER"):
        ac.fused_moe(**plain_call[0], backend="aiter")


def test_doctor_says_so():
    run = subprocess.run([sys.executable, "-m", "aiter_compat", "doctor"], capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert "another package called aiter, not AITER: aiter 0.13.20191203" in " ".join(run.stdout.split())
