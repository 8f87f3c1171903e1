"""Twins behave as AITER's enums do: pybind11's for ActivationType and QuantType, a str enum for GateMode."""

import copy
import importlib
import pickle
from enum import Enum

import pytest

import aiter_compat as ac
from aiter_compat.enums.twins import gate_mode_twin, pybind_twin


@pytest.fixture
def kinds(without_aiter):
    """The classes that serve where AITER cannot."""
    return ac.ActivationType, ac.QuantType


@pytest.fixture(params=["twin", "pybind"])
def activation_type(request):
    """The twin, and the stub's independent imitation of pybind11: both must pass the same tests."""
    if request.param == "twin":
        request.getfixturevalue("without_aiter")
        return ac.ActivationType
    request.getfixturevalue("aiter_stub")("0.1.15.post3")
    return importlib.import_module("aiter").ActivationType


class TestLikePybind:
    def test_members(self, activation_type):
        members = {name: member.value for name, member in activation_type.__members__.items()}
        assert members.items() >= {"No": -1, "Silu": 0, "Gelu": 1, "Swiglu": 2}.items()
        assert activation_type.Swiglu is activation_type.__members__["Swiglu"]

    def test_no_member_equals_an_int(self, activation_type):
        assert activation_type.Silu != 0
        assert activation_type.Gelu != 1
        assert (activation_type.Silu == 0) is False
        assert activation_type.Silu == activation_type.Silu
        assert activation_type.Silu != activation_type.Gelu

    def test_the_constructor_takes_any_int(self, activation_type):
        assert activation_type(2) == activation_type.Swiglu
        unknown = activation_type(9)
        assert unknown.name == "???"
        assert unknown.value == int(unknown) == 9
        assert repr(unknown) == "<ActivationType.???: 9>"

    @pytest.mark.parametrize("value", ["2", None, 2.0])
    def test_and_nothing_else(self, activation_type, value):
        with pytest.raises(TypeError):
            activation_type(value)

    def test_texts(self, activation_type):
        assert repr(activation_type.Silu) == "<ActivationType.Silu: 0>"
        assert str(activation_type.Silu) == "ActivationType.Silu"
        assert activation_type.Silu.name == "Silu"

    def test_hash_is_that_of_the_int(self, activation_type):
        assert hash(activation_type.Swiglu) == hash(2)
        assert {activation_type(2): "found"}[activation_type.Swiglu] == "found"
        assert 2 not in {activation_type.Swiglu: 1}

    def test_a_member_is_true_even_when_its_value_is_0(self, activation_type):
        assert activation_type.Silu

    def test_a_member_indexes(self, activation_type):
        assert ["a", "b", "c"][activation_type.Swiglu] == "c"

    def test_the_class_is_neither_iterable_nor_subscriptable(self, activation_type):
        with pytest.raises(TypeError):
            iter(activation_type)
        with pytest.raises(TypeError):
            activation_type["Silu"]

    def test_a_member_cannot_be_changed(self, activation_type):
        with pytest.raises(AttributeError):
            activation_type.Silu.value = 3

    def test_pickle_and_copy(self, activation_type):
        for member in (activation_type.Gelu, activation_type(9)):
            assert pickle.loads(pickle.dumps(member)) == member
            assert copy.copy(member) == copy.deepcopy(member) == member


def test_members_of_different_twins_are_unequal(kinds):
    activation_type, quant_type = kinds
    assert activation_type(3) != quant_type.per_1x32
    assert quant_type.No.value == 0
    assert activation_type.No.value == -1


def test_twins_have_what_the_newest_release_has(kinds):
    assert ac.ActivationType.Situv2.value == 3
    assert {name: member.value for name, member in ac.QuantType.__members__.items()} == {
        "No": 0,
        "per_Tensor": 1,
        "per_Token": 2,
        "per_1x32": 3,
        "per_1x128": 4,
        "per_128x128": 5,
        "per_256x128": 6,
        "per_1024x128": 7,
    }


class TestGateMode:
    def test_it_is_a_str_enum(self, without_aiter):
        assert issubclass(ac.GateMode, str)
        assert issubclass(ac.GateMode, Enum)
        assert [(mode.name, mode.value) for mode in ac.GateMode] == [
            ("SEPARATED", "separated"),
            ("MOCK_GATE_ONLY", "mock_gate_only"),
            ("GATE_ONLY", "gate_only"),
            ("INTERLEAVE", "interleave"),
        ]
        assert ac.GateMode.INTERLEAVE == "interleave"
        assert ac.GateMode("separated") is ac.GateMode.SEPARATED

    def test_a_name_is_no_value(self, without_aiter):
        with pytest.raises(ValueError, match="not a valid GateMode"):
            ac.GateMode("INTERLEAVE")

    def test_pickle(self, without_aiter):
        assert pickle.loads(pickle.dumps(ac.GateMode.INTERLEAVE)) is ac.GateMode.INTERLEAVE
        assert pickle.loads(pickle.dumps(ac.GateMode)) is ac.GateMode


def test_a_member_taken_before_refresh_equals_the_same_member_after_it(without_aiter):
    """Hosts keep members in module constants and class attributes."""
    kept = ac.ActivationType.Silu, ac.QuantType.per_1x32, ac.GateMode.INTERLEAVE
    ac.refresh()
    assert kept == (ac.ActivationType.Silu, ac.QuantType.per_1x32, ac.GateMode.INTERLEAVE)
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert isinstance(kept[2], ac.GateMode)


def test_a_member_pickled_with_twins_is_aiters_where_there_is_one(without_aiter, aiter_stub, monkeypatch):
    """A worker process may see an AITER that its parent does not."""
    pickled = pickle.dumps([ac.ActivationType.Gelu, ac.QuantType.per_1x32, ac.GateMode.INTERLEAVE])
    monkeypatch.undo()
    aiter_stub("0.1.15.post3")
    package = importlib.import_module("aiter")
    gate_mode = importlib.import_module("aiter.ops.flydsl.moe_common").GateMode
    assert pickle.loads(pickled) == [package.ActivationType.Gelu, package.QuantType.per_1x32, gate_mode.INTERLEAVE]


def test_other_members_make_another_class():
    old, new = {"No": -1, "Silu": 0}, {"No": -1, "Silu": 0, "Gelu": 1}
    assert pybind_twin("ActivationType", old) is pybind_twin("ActivationType", dict(old))
    assert pybind_twin("ActivationType", old) is not pybind_twin("ActivationType", new)
    assert gate_mode_twin({"A": "a"}) is not gate_mode_twin({"A": "a", "B": "b"})
