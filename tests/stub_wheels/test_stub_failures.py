"""The failing stubs fail as AITER does without ROCm or beside torch 2.13, debris included."""

import importlib
import logging
import sys

import pytest


def test_without_rocm_the_import_fails_and_leaves_debris(aiter_stub):
    folder = aiter_stub("broken")
    before = len(sys.path)
    for attempt in (1, 2):
        with pytest.raises(RuntimeError, match="ROCm version file not found") as failure:
            importlib.import_module("aiter")
        assert isinstance(failure.value.__cause__, AssertionError)
        assert len(sys.path) == before + attempt
        assert sys.path[0] == f"{folder}/aiter/jit/utils/"
    assert "aiter" not in sys.modules
    assert {"aiter.jit", "hipify", "file_baton", "_cpp_extension_versioner"} <= set(sys.modules)


def test_beside_torch_2_13_the_registration_of_operators_fails(aiter_stub):
    aiter_stub("incompatible")
    with pytest.raises(ValueError, match=r"too many values to unpack \(expected 2\)"):
        importlib.import_module("aiter")
    assert "aiter" not in sys.modules
    assert {"aiter.jit.core", "chip_info", "torch_guard"} <= set(sys.modules)


def test_0_1_14_without_rocm_imports_and_lacks_most_names(aiter_stub, capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger("aiter"), "handlers", [])  # an earlier import left its own, on another stderr
    aiter_stub("truncated")
    package = importlib.import_module("aiter")
    assert package.logger is package.getLogger()
    assert package.IRIS_COMM_AVAILABLE is False
    assert not hasattr(package, "ActivationType")
    assert importlib.import_module("aiter.ops.flydsl.moe_common").GateMode.SEPARATED.value == "separated"
    with pytest.raises(ImportError, match="cannot import name 'ActivationType'"):
        importlib.import_module("aiter.fused_moe")
    log = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[aiter]")]
    assert len(log) == 1
    assert "ROCm version file not found" in log[0]
