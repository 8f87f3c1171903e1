"""Beside an AITER that cannot be imported: calls compute, AITER's own error is the reason, and no debris stays."""

import json
import subprocess
import sys

import pytest

import aiter_compat as ac

DEBRIS = {"hipify", "file_baton", "_cpp_extension_versioner", "chip_info", "cpp_extension", "torch_guard"}


def distance(output, expected) -> float:
    return float((output.float() - expected).norm() / expected.norm())


def test_the_files_say_what_is_installed(failure):
    found = ac.installation()
    assert (found.kind, found.version) == ("present", failure[0])
    assert "aiter" not in sys.modules


def test_calls_compute_and_carry_aiters_own_error(plain_call, failure):
    call, expected = plain_call
    _, kind, message = failure
    for _ in range(2):
        assert distance(ac.fused_moe(**call), expected) < 5e-3
        decision = ac.explain(**call)
        assert decision.backend == "emulation"
        assert f"{kind.__name__}: {message}" in str(decision)


def test_asking_for_aiter_raises_with_its_error_as_cause(plain_call, failure):
    _, kind, message = failure
    path = list(sys.path)
    with pytest.raises(ac.AiterImportError) as refusal:
        ac.fused_moe(**plain_call[0], backend="aiter")
    assert isinstance(refusal.value.__cause__, kind)
    assert message in str(refusal.value.__cause__)
    assert sys.path == path


def test_a_failed_import_leaves_nothing_behind(failure):
    program = (
        "import json, sys, torch, aiter_compat as ac\n"
        "before = list(sys.path)\n"
        "call = {'hidden_states': torch.zeros(1, 32), 'w1': torch.zeros(2, 64, 32), 'w2': torch.zeros(2, 32, 32)}\n"
        "call = {name: tensor.bfloat16() for name, tensor in call.items()}\n"
        "call |= {'topk_weight': torch.ones(1, 1), 'topk_ids': torch.zeros(1, 1, dtype=torch.int32)}\n"
        "added = []\n"
        "for _ in range(3):\n"
        "    ac.fused_moe(**call)\n"
        "    added.append([entry for entry in sys.path if entry not in before])\n"
        "print(json.dumps([added, sorted(sys.modules)]))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (first, *later), modules = json.loads(run.stdout)
    left = {name for name in modules if name.partition(".")[0] in {"aiter", "aiter_meta"} | DEBRIS}
    assert later == [first, first]
    if failure[1] is ImportError:  # `import aiter` itself worked: its modules stay, with the one entry that they need
        assert "aiter" in left
        assert len(first) == 1
    else:
        assert (first, left) == ([], set())


def test_enums_are_twins(failure):
    assert ac.ActivationType.Swiglu.value == 2
    assert ac.ActivationType.Swiglu != 2
    assert ac.GateMode.INTERLEAVE.value == "interleave"


def test_doctor_shows_the_error_when_it_may_import(failure):
    doctor = [sys.executable, "-m", "aiter_compat", "doctor"]
    plain = subprocess.run(doctor, capture_output=True, text=True, check=False)
    assert plain.returncode == 0
    assert f"AITER {failure[0]}" in plain.stdout
    tried = subprocess.run([*doctor, "--try-import"], capture_output=True, text=True, check=False)
    assert tried.returncode == 3
    assert failure[2] in " ".join(tried.stdout.split())
