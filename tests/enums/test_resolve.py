"""Each enum is AITER's own class, from the path of its release, where it is usable; else a twin with a reason."""

import importlib
import sys
import threading

import pytest
from packaging.version import Version

import aiter_compat as ac
from aiter_compat.enums import ENUM_NAMES, resolution
from aiter_compat.enums.resolve import members_of
from aiter_compat.releases import nearest_record

AMD = {"aiter/__init__.py": "", "aiter/jit/core.py": "", "aiter/fused_moe.py": "def fused_moe(hidden_states): ...\n"}
GATE_MODE_PATHS = {
    "0.1.13.post1": "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode",
    "0.1.14": "aiter.ops.flydsl.moe_common.GateMode",
    "0.1.15.post3": "aiter.ops.flydsl.moe_common.GateMode",
    "0.1.17": "aiter.ops.flydsl.moe_common.GateMode",
    "0.1.19": "aiter.ops.flydsl.moe_common.GateMode",  # the kernel module has a second, distinct class there
    "0.1.20.post1": "aiter.ops.flydsl.moe_common.GateMode",
}


@pytest.mark.parametrize(("release", "gate_mode"), GATE_MODE_PATHS.items())
def test_classes_are_aiters_from_the_path_of_the_release(aiter_stub, release, gate_mode):
    aiter_stub(release)
    paths = {
        "GateMode": gate_mode,
        "ActivationType": "aiter.ops.enum.ActivationType",
        "QuantType": "aiter.ops.enum.QuantType",
    }
    for name, path in paths.items():
        found = resolution(name)
        module, _, attribute = path.rpartition(".")
        assert found.cls is getattr(importlib.import_module(module), attribute)
        assert found.path == path
        assert path in found.reason
        assert getattr(ac, name) is found.cls
    situv2 = "Situv2" in ac.ActivationType.__members__
    assert situv2 is (Version(release) >= Version("0.1.19"))


def test_the_installed_release_decides_when_the_class_has_moved(aiter_stub):
    aiter_stub("0.1.13.post1")
    old = ac.GateMode
    aiter_stub("0.1.15.post3")
    assert ac.GateMode is not old
    assert ac.GateMode.__module__ == "aiter.ops.flydsl.moe_common"


@pytest.mark.parametrize("name", ["broken", "incompatible"])
def test_an_aiter_that_does_not_import_is_replaced_with_its_own_error_as_reason(aiter_stub, name):
    aiter_stub(name)
    for enum in ENUM_NAMES:
        found = resolution(enum)
        assert found.path is None
        assert found.cls.__module__ == "aiter_compat"
        assert found.reason.startswith("twin: ")
        assert {"broken": "ROCm version file not found", "incompatible": "too many values"}[name] in found.reason


def test_a_twin_has_the_members_of_the_release_that_it_stands_for(aiter_stub):
    aiter_stub("broken")  # 0.1.15.post3
    assert "Situv2" not in ac.ActivationType.__members__
    recorded = nearest_record(Version("0.1.15.post3")).surface.members("aiter.ops.enum.ActivationType")
    assert {name: member.value for name, member in ac.ActivationType.__members__.items()} == dict(recorded)


def test_truncated_0_1_14_serves_gate_mode_and_nothing_else(aiter_stub):
    aiter_stub("truncated")
    assert resolution("GateMode").path == "aiter.ops.flydsl.moe_common.GateMode"
    for name in ("ActivationType", "QuantType"):
        assert resolution(name).path is None
        assert "aiter.ops.enum" in resolution(name).reason


def test_the_fallback_class_of_0_1_17_is_not_served(fake_site):
    """Beside a flydsl that is too old, aiter.fused_moe defines a plain Enum of two members that fused_moe refuses."""
    fake_site(
        {
            "aiter/__init__.py": "",
            "aiter/jit/core.py": "",
            "aiter/ops/__init__.py": "",
            "aiter/ops/flydsl/__init__.py": "raise ImportError('flydsl 0.1.7 is too old')\n",
            "aiter/ops/flydsl/moe_common.py": "from enum import Enum\nclass GateMode(str, Enum):\n"
            "    SEPARATED = 'separated'\n    INTERLEAVE = 'interleave'\n    GATE_ONLY = 'gate_only'\n",
            "aiter/fused_moe.py": "from enum import Enum\n"
            "try:\n    from aiter.ops.flydsl.moe_common import GateMode\nexcept ImportError:\n"
            "    class GateMode(Enum):\n        SEPARATED = 'separated'\n        INTERLEAVE = 'interleave'\n"
            "def fused_moe(hidden_states, gate_mode=GateMode.SEPARATED.value): ...\n",
        }
    )
    found = resolution("GateMode")
    assert found.path is None
    assert "flydsl 0.1.7 is too old" in found.reason
    assert "aiter.fused_moe.GateMode" in found.reason
    assert [mode.value for mode in ac.GateMode] == ["separated", "interleave", "gate_only"]
    assert isinstance(ac.GateMode.INTERLEAVE, str)
    assert sys.modules["aiter.fused_moe"].GateMode.INTERLEAVE.value == ac.GateMode.INTERLEAVE


def test_an_aiter_without_gate_mode_gets_the_newest_twin(fake_site):
    fake_site(AMD)
    found = resolution("GateMode")
    assert found.path is None
    assert "this AITER has no GateMode" in found.reason
    assert "MOCK_GATE_ONLY" in ac.GateMode.__members__


def test_a_name_that_is_no_class_is_not_served(fake_site):
    fake_site(AMD | {"aiter/ops/__init__.py": "", "aiter/ops/enum.py": "QuantType = ActivationType = type(None)()\n"})
    assert "aiter.ops.enum.QuantType is not a class" in resolution("QuantType").reason
    assert ac.QuantType.per_1x32.value == 3


def test_a_fork_that_defines_its_enums_in_the_package_itself_is_served(fake_site, monkeypatch):
    """Minimal forks have no aiter/ops/enum.py."""
    source = "class ActivationType:\n    Silu = 0\n    Swiglu = 2\nclass QuantType:\n    No = 0\n    per_1x32 = 3\n"
    folder = fake_site(AMD | {"aiter/__init__.py": source})
    surface = _with_package_enums(ac.surface())
    monkeypatch.setattr("aiter_compat.features.installed.probe", lambda location: surface)
    ac.refresh()
    assert resolution("QuantType").path == "aiter.QuantType"
    assert ac.QuantType.per_1x32 == 3
    assert ac.supports("swiglu")
    assert ac.supports("moe_mxfp4")
    assert members_of("ActivationType") == {"Silu": 0, "Swiglu": 2}
    assert str(folder) in sys.modules["aiter"].__file__


def _with_package_enums(surface):
    """What the probe says of a fork whose aiter/__init__.py defines the enums."""
    import dataclasses

    from aiter_compat.probe import Symbol

    symbols = dict(surface.symbols)
    for name, members in (("ActivationType", {"Silu": 0, "Swiglu": 2}), ("QuantType", {"No": 0, "per_1x32": 3})):
        path = f"aiter.{name}"
        symbols[path] = Symbol(path, "enum", members=members, enum_kind="plain")
    return dataclasses.replace(surface, symbols=symbols)


def test_a_class_is_resolved_once(aiter_stub):
    aiter_stub("0.1.15.post3")
    assert resolution("GateMode") is resolution("GateMode")
    assert ac.GateMode is ac.GateMode


@pytest.mark.parametrize("name", ["0.1.15.post3", "broken"])
def test_threads_get_one_class(aiter_stub, name):
    aiter_stub(name)
    start, seen = threading.Barrier(8), []

    def work():
        start.wait()
        seen.append((ac.GateMode, ac.ActivationType, ac.QuantType))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1


@pytest.mark.parametrize("release", ["0.1.13.post1", "0.1.15.post3", "0.1.20.post1"])
def test_members_are_known_without_importing(aiter_stub, release):
    aiter_stub(release)
    surface = nearest_record(Version(release)).surface
    assert members_of("ActivationType") == surface.members("aiter.ops.enum.ActivationType")
    assert members_of("GateMode") == {
        "SEPARATED": "separated",
        "MOCK_GATE_ONLY": "mock_gate_only",
        "GATE_ONLY": "gate_only",
        "INTERLEAVE": "interleave",
    }
    assert "aiter" not in sys.modules
