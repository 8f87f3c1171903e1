"""Callers pass names, members or integers; each argument has one canonical name, and junk is refused by name."""

from enum import Enum, IntEnum
from pathlib import Path

import pytest

import aiter_compat as ac
from aiter_compat.enums import activation_name, gate_mode_name, quant_type_name
from aiter_compat.enums.names import ACTIVATIONS, GATE_MODES, QUANT_TYPES


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("silu", "silu"),
        ("SiLU", "silu"),
        ("GELU", "gelu"),
        ("SwiGLU", "swiglu"),
        ("gelu_tanh", "gelu_tanh"),
        ("gelu-tanh", "gelu_tanh"),
        ("GeluTanh", "gelu_tanh"),
        ("SiTUv2", "situv2"),
        ("relu2", "relu2"),
        (0, "silu"),
        (1, "gelu"),
        (2, "swiglu"),
    ],
)
def test_activations(without_aiter, given, name):
    assert activation_name(given) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("no", "no"),
        ("No", "no"),
        ("per_1x32", "per_1x32"),
        ("PER_1X32", "per_1x32"),
        ("per_Token", "per_token"),
        ("per-tensor", "per_tensor"),
        (0, "no"),
        (3, "per_1x32"),
        (5, "per_128x128"),
        (7, "per_1024x128"),
    ],
)
def test_quant_types(without_aiter, given, name):
    assert quant_type_name(given) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [(None, "separated"), ("Separated", "separated"), ("INTERLEAVE", "interleave"), ("gate_only", "gate_only")],
)
def test_gate_modes(without_aiter, given, name):
    assert gate_mode_name(given) == name


@pytest.mark.parametrize("name", ["twin", "0.1.13.post1", "0.1.20.post1"])
def test_members_of_the_class_that_serves(request, name):
    if name == "twin":
        request.getfixturevalue("without_aiter")
    else:
        request.getfixturevalue("aiter_stub")(name)
    for names, enum, function in (
        (ACTIVATIONS, ac.ActivationType, activation_name),
        (QUANT_TYPES, ac.QuantType, quant_type_name),
    ):
        for canonical, member in names.items():
            if member in enum.__members__:
                assert function(getattr(enum, member)) == canonical
    for mode in ac.GateMode:
        assert gate_mode_name(mode) == mode.value
    assert {mode.value for mode in ac.GateMode} == set(GATE_MODES)


def test_every_member_of_the_newest_release_has_a_name(without_aiter):
    """A recorded member without a name could be passed to AITER and not to us."""
    assert set(ac.ActivationType.__members__) - set(ACTIVATIONS.values()) == {"No"}
    assert set(ac.QuantType.__members__) == set(QUANT_TYPES.values())


def test_integers_mean_what_the_installed_release_says(aiter_stub):
    aiter_stub("0.1.20.post1")
    assert activation_name(3) == "situv2"
    aiter_stub("0.1.15.post3")
    with pytest.raises(ac.InvalidArgument, match="activation: got 3"):
        activation_name(3)


def test_members_of_the_fallback_class_are_taken():
    class GateMode(Enum):  # aiter/fused_moe.py from v0.1.17 on, beside a flydsl that is too old
        SEPARATED = "separated"
        INTERLEAVE = "interleave"

    assert gate_mode_name(GateMode.INTERLEAVE) == "interleave"


def test_a_hosts_own_integer_enum_is_taken_by_its_name_or_by_its_value(without_aiter):
    """vLLM's QuantMethod and ActivationMethod have AITER's integers under names of their own."""

    class QuantMethod(IntEnum):
        NO = 0
        PER_TOKEN = 2
        BLOCK_1X32 = 3

    assert [quant_type_name(member) for member in QuantMethod] == ["no", "per_token", "per_1x32"]


def test_a_hosts_own_string_enum_is_taken_by_its_value(without_aiter):
    class Activation(str, Enum):
        ANY_NAME = "swiglu"

    assert activation_name(Activation.ANY_NAME) == "swiglu"


JUNK = [True, False, None, 2.0, "", "swish", -7, 99, b"silu", ["silu"], object(), Path("silu"), type]


@pytest.mark.parametrize(
    "value", JUNK, ids=lambda value: f"{type(value).__name__}-{value}" if type(value) is not object else "object"
)
@pytest.mark.parametrize(
    ("function", "argument", "allowed"),
    [(activation_name, "activation", "swiglu"), (quant_type_name, "quant_type", "per_1x32")],
)
def test_junk_is_refused_with_what_is_allowed(without_aiter, function, argument, allowed, value):
    with pytest.raises(ac.InvalidArgument) as raised:
        function(value)
    assert raised.value.argument == argument
    assert raised.value.given == (value if isinstance(value, str) else repr(value))
    assert allowed in raised.value.allowed


@pytest.mark.parametrize(
    "value",
    [True, 0, 1.0, "", "both", b"separated", object()],
    ids=lambda value: f"{type(value).__name__}-{value}" if type(value) is not object else "object",
)
def test_junk_gate_modes(without_aiter, value):
    with pytest.raises(ac.InvalidArgument, match=r"gate_mode: got .*separated, interleave"):
        gate_mode_name(value)


def test_the_argument_that_is_wrong_is_named(without_aiter):
    with pytest.raises(ac.InvalidArgument, match=r"^MoEConfig\.activation: got swish;"):
        activation_name("swish", "MoEConfig.activation")


@pytest.mark.parametrize("name", ["twin", "0.1.15.post3"])
def test_members_of_the_other_enum_are_refused(request, name):
    """Both have a `No`, and swapped arguments must not pass for one."""
    if name == "twin":
        request.getfixturevalue("without_aiter")
    else:
        request.getfixturevalue("aiter_stub")(name)
    for function, member in (
        (quant_type_name, ac.ActivationType.No),
        (quant_type_name, ac.ActivationType.Silu),
        (activation_name, ac.QuantType.per_1x32),
        (activation_name, ac.ActivationType(9)),
    ):
        with pytest.raises(ac.InvalidArgument):
            function(member)
