"""One meaning for the numbers of an activation, whatever AITER release or host spelt them."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aiter_compat as ac
from aiter_compat.moe.numbers import activation_numbers

OWN_LIMIT = {"silu": None, "gelu": None, "gelu_tanh": None, "swiglu": 7.0, "swiglustep": 7.0}


@pytest.mark.parametrize("function", OWN_LIMIT)
@pytest.mark.parametrize("limit", [None, 0.0, 0, -0.0])
def test_none_and_zero_are_the_activations_own_limit(function, limit):
    numbers = activation_numbers(function, gated=True, limit=limit)
    assert numbers.limit == numbers.default_limit == OWN_LIMIT[function]
    assert numbers.limit_is_default


@pytest.mark.parametrize("function", OWN_LIMIT)
@settings(max_examples=30)
@given(limit=st.floats(min_value=1e-6, max_value=1e6))
def test_a_positive_limit_clamps(function, limit):
    numbers = activation_numbers(function, gated=True, limit=limit)
    assert numbers.limit == limit
    assert numbers.limit_is_default == (limit == OWN_LIMIT[function])


@pytest.mark.parametrize("function", [*OWN_LIMIT, "situv2", "relu2"])
def test_infinity_is_no_clamp(function):
    numbers = activation_numbers(function, gated=True, limit=math.inf)
    assert numbers.limit is None
    assert numbers.limit_is_default == (OWN_LIMIT.get(function) is None)


@pytest.mark.parametrize("limit", [math.nan, -1e-9, -math.inf, "7.0", "", True, False, [7.0]])
def test_anything_else_is_refused_by_name(limit):
    with pytest.raises(ac.InvalidArgument) as caught:
        activation_numbers("swiglu", gated=True, limit=limit, limit_argument="config.limit")
    assert caught.value.argument == "config.limit"


def test_defaults_are_recognised_as_what_kernels_have():
    assert activation_numbers("swiglu", gated=True, limit=None, alpha=1.702, beta=1.0).constants_are_default
    assert not activation_numbers("swiglu", gated=True, limit=None, alpha=1.0).constants_are_default
    situv2 = activation_numbers("situv2", gated=True, limit=None)
    assert (situv2.beta, situv2.linear_beta, situv2.constants_are_default) == (4.0, 25.0, True)
    assert not activation_numbers("situv2", gated=True, limit=None, beta=2.0).constants_are_default


@pytest.mark.parametrize(
    ("function", "numbers", "argument"),
    [
        ("silu", {"alpha": 1.702}, "alpha"),
        ("silu", {"beta": 1.0}, "beta"),
        ("swiglu", {"linear_beta": 1.0}, "linear_beta"),
        ("situv2", {"alpha": 1.0}, "alpha"),
        ("situv2", {"beta": 0.0}, "beta"),
        ("swiglu", {"beta": math.inf}, "beta"),
        ("swiglu", {"alpha": "1"}, "alpha"),
    ],
)
def test_numbers_of_another_activation_are_refused(function, numbers, argument):
    with pytest.raises(ac.InvalidArgument) as caught:
        activation_numbers(function, gated=True, limit=None, **numbers)
    assert caught.value.argument == argument
