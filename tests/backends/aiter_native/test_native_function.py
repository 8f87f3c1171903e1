"""AITER's function is looked up at each call, and its own errors come through with ours as context."""

import importlib
import pickle

import pytest
import torch

import aiter_compat as ac

RELEASE = "0.1.15.post3"


@pytest.fixture
def call(aiter_stub, sample):
    aiter_stub(RELEASE)
    return sample("unquantised silu").arguments | {"backend": "aiter"}


@pytest.fixture
def module(call):
    ac.fused_moe(**call)
    return importlib.import_module("aiter.fused_moe")


def test_a_function_replaced_at_run_time_is_the_one_that_runs(module, call, monkeypatch):
    """SGLang replaces aiter.fused_moe.fused_moe after its own imports."""
    original, seen = module.fused_moe, []

    def replacement(*args, **kwargs):
        seen.append(len(args))
        return original(*args, **kwargs) + 1

    before = ac.fused_moe(**call)
    monkeypatch.setattr(module, "fused_moe", replacement)
    assert torch.equal(ac.fused_moe(**call), before + 1)
    assert len(seen) == 1
    monkeypatch.setattr(module, "fused_moe", original)
    assert torch.equal(ac.fused_moe(**call), before)
    assert len(seen) == 1


class KernelError(RuntimeError):
    pass


def test_aiters_own_error_comes_through_with_the_call_as_its_cause(module, call, monkeypatch):
    root = OSError("module not built")

    def failing(*args, **kwargs):
        raise KernelError("Unsupported kernel config for moe heuristic dispatch") from root

    monkeypatch.setattr(module, "fused_moe", failing)
    with pytest.raises(KernelError, match="heuristic dispatch") as caught:
        ac.fused_moe(**call)
    context = caught.value.__cause__
    assert isinstance(context, ac.AiterCallError)
    assert context.__cause__ is root
    for word in (RELEASE, "6 tokens", "4 experts", "hidden 256", "silu", "no", "separated", "torch.bfloat16 on cpu"):
        assert word in str(context)


def test_what_the_stub_itself_refuses_comes_through(module, call):
    with pytest.raises(ValueError, match="no kernel reads interleaved No weights") as caught:
        ac.fused_moe(**call, gate_mode="interleave", weight_layout="logical")
    assert isinstance(caught.value.__cause__, ac.AiterCallError)


def test_errors_survive_pickling():
    for error in (
        ac.InvalidArgument("w1", 3, "a tensor", "Pass one."),
        ac.UnsupportedByAiter(["no keyword"], "Upgrade."),
        ac.AiterImportError(["absent"], "Install it."),
        ac.AiterCallError("while …"),
        ac.LayoutUnknown("weight_layout: …"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_removal_between_decision_and_call(call, monkeypatch):
    monkeypatch.setattr("aiter_compat.moe.run.active_surface", lambda: None)
    with pytest.raises(ac.UnsupportedByAiter, match=r"removed between.*ac\.refresh"):
        ac.fused_moe(**call)
