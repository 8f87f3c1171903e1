"""The failing stubs fail as AITER does without ROCm or beside torch 2.13, debris included."""

import importlib
import inspect
import logging
import sys

import pytest
from packaging.version import Version


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


def test_on_a_gpu_that_the_release_does_not_know_the_import_raises_keyerror(aiter_stub):
    aiter_stub("keyerror")
    with pytest.raises(KeyError, match="gfx1151"):
        importlib.import_module("aiter")


def test_an_import_may_end_the_process(aiter_stub, capsys):
    aiter_stub("exits")
    with pytest.raises(SystemExit) as stop:
        importlib.import_module("aiter")
    assert stop.value.code == 1
    assert "no agent found" in capsys.readouterr().err


def test_a_stray_folder_is_an_empty_namespace(aiter_stub):
    aiter_stub("namespace")
    package = importlib.import_module("aiter")
    assert package.__file__ is None
    assert not hasattr(package, "fused_moe")


@pytest.mark.parametrize(("name", "has_gate_mode"), [("denies", True), ("claims", False)])
def test_a_development_build_is_what_its_files_are(aiter_stub, name, has_gate_mode):
    folder = aiter_stub(name)
    function = importlib.import_module("aiter.fused_moe").fused_moe
    assert ("gate_mode" in inspect.signature(function).parameters) is has_gate_mode
    version = Version(importlib.import_module("aiter._version").__version__)
    assert version.is_devrelease
    assert (version >= Version("0.1.14")) is not has_gate_mode
    assert list(folder.glob(f"amd_aiter-{version}.dist-info"))
