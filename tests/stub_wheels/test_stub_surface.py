"""A stub looks like the release it stands for, to a reader of files and to a caller."""

import importlib
import inspect
import pickle

import pytest
from packaging.version import Version

from aiter_compat.probe import probe
from aiter_compat.releases import nearest_record


def exact_record(release):
    """`record` would take a bare X.Y.Z for its last post."""
    return nearest_record(Version(release))


def test_probe_of_a_stub_sees_what_the_record_says(stub_site, release):
    recorded = exact_record(release).surface.symbols
    probed = probe(str(stub_site(release) / "aiter")).symbols
    assert {path: probed.get(path) for path in recorded} == dict(recorded)


def test_signature_at_run_time_is_the_recorded_one(aiter_stub, release):
    aiter_stub(release)
    function = importlib.import_module("aiter.fused_moe").fused_moe
    recorded = exact_record(release).surface.parameters("aiter.fused_moe.fused_moe")
    live = inspect.signature(function).parameters
    assert list(live) == [parameter.name for parameter in recorded]
    required = [parameter.name for parameter in recorded if parameter.default is None]
    assert [name for name, live_one in live.items() if live_one.default is live_one.empty] == required


def test_gate_mode_is_where_the_release_has_it_and_nowhere_else(aiter_stub, release):
    aiter_stub(release)
    paths = ("aiter.ops.flydsl.moe_common", "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage")
    surface = exact_record(release).surface
    for path in paths:
        if surface.has(f"{path}.GateMode"):
            gate_mode = importlib.import_module(path).GateMode
            assert {mode.name: mode.value for mode in gate_mode} == dict(surface.members(f"{path}.GateMode"))
        else:
            with pytest.raises(ModuleNotFoundError):
                importlib.import_module(path)


def test_enums_behave_as_pybind11_makes_them(aiter_stub, release):
    aiter_stub(release)
    package = importlib.import_module("aiter")
    kind = package.ActivationType
    assert kind is importlib.import_module("aiter.ops.enum").ActivationType
    assert {name: member.value for name, member in kind.__members__.items()} == dict(
        exact_record(release).surface.members("aiter.ops.enum.ActivationType")
    )
    assert kind.Silu == kind(0)
    assert kind.Silu != 0
    assert kind.Silu != package.QuantType.No
    assert int(kind.Swiglu) == hash(kind.Swiglu) == kind.Swiglu.value == 2
    assert bool(kind.Silu)
    assert repr(kind.Silu) == "<ActivationType.Silu: 0>"
    assert repr(kind(9)) == "<ActivationType.???: 9>"
    assert pickle.loads(pickle.dumps(kind.Gelu)) == kind.Gelu
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        kind("2")
    with pytest.raises(TypeError, match="not iterable"):
        list(kind)
    with pytest.raises(TypeError, match="not subscriptable"):
        kind["Silu"]
