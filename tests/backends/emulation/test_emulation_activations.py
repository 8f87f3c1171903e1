"""Each activation is the function that AITER or the host names, with its own clamp and nothing dropped silently."""

from __future__ import annotations

import math

import pytest
import torch

from aiter_compat.backends.emulation import ActivationSpec
from aiter_compat.backends.emulation.activations import activate, check_activation
from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation

GATES = [-9.0, -1.5, -0.0, 0.25, 3.0, 11.0]
UPS = [-8.5, 0.5, 2.0, -1.0, 7.5, 0.0]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def erf_gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def tanh_gelu(x: float) -> float:
    return x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def clamp(x: float, limit: float) -> float:
    return max(-limit, min(x, limit))


FORMULAS = {
    "silu": (ActivationSpec("silu"), lambda g, u: g * sigmoid(g) * u),
    "silu, limit 2": (
        ActivationSpec("silu", limit=2.0),
        lambda g, u: min(g, 2) * sigmoid(min(g, 2)) * clamp(u, 2),
    ),
    "gelu": (ActivationSpec("gelu"), lambda g, u: erf_gelu(g) * u),
    "gelu_tanh": (ActivationSpec("gelu_tanh"), lambda g, u: tanh_gelu(g) * u),
    "swiglu, no limit": (ActivationSpec("swiglu"), lambda g, u: g * sigmoid(1.702 * g) * (u + 1)),
    "swiglu, alpha 1, beta 0, limit 5": (
        ActivationSpec("swiglu", alpha=1.0, beta=0.0, limit=5.0),
        lambda g, u: min(g, 5) * sigmoid(min(g, 5)) * clamp(u, 5),
    ),
    "swiglu, limit 0": (ActivationSpec("swiglu", limit=0.0), lambda g, u: min(g, 0) * sigmoid(1.702 * min(g, 0))),
    "swiglustep": (ActivationSpec("swiglustep", limit=7.0), lambda g, u: min(g * sigmoid(g), 7) * clamp(u, 7)),
    "swiglustep, no limit": (ActivationSpec("swiglustep"), lambda g, u: g * sigmoid(g) * u),
    "situv2": (
        ActivationSpec("situv2", beta=4.0, linear_beta=25.0),
        lambda g, u: 4 * math.tanh(g / 4) * sigmoid(g) * 25 * math.tanh(u / 25),
    ),
    "situv2, linear up": (
        ActivationSpec("situv2", beta=4.0),
        lambda g, u: 4 * math.tanh(g / 4) * sigmoid(g) * u,
    ),
    "relu2": (ActivationSpec("relu2"), lambda g, u: max(g, 0) ** 2 * u),
    "silu, not gated": (ActivationSpec("silu", gated=False), lambda g, u: g * sigmoid(g)),
    "gelu, not gated": (ActivationSpec("gelu", gated=False), lambda g, u: erf_gelu(g)),
    "gelu_tanh, not gated": (ActivationSpec("gelu_tanh", gated=False), lambda g, u: tanh_gelu(g)),
    "relu2, not gated": (ActivationSpec("relu2", gated=False), lambda g, u: max(g, 0) ** 2),
}


@pytest.mark.parametrize("case", FORMULAS)
def test_formula(case):
    spec, formula = FORMULAS[case]
    check_activation(spec)
    columns = GATES + UPS if spec.gated else GATES
    computed = activate(torch.tensor([columns]), spec)
    expected = [formula(gate, up) for gate, up in zip(GATES, UPS, strict=True)]
    torch.testing.assert_close(computed, torch.tensor([expected]), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["silu", "swiglu", "swiglustep", "situv2"])
def test_interleaved_rows_are_the_same_halves_in_another_order(name):
    spec = ActivationSpec(name, beta=1.5)
    halves = torch.randn(3, 16, generator=torch.Generator().manual_seed(1))
    alternating = halves.view(3, 2, 8).transpose(1, 2).reshape(3, 16)
    assert torch.equal(activate(alternating, spec, "interleaved"), activate(halves, spec))


@pytest.mark.parametrize(
    ("spec", "error", "mentions"),
    [
        (ActivationSpec("mish"), InvalidArgument, "silu, gelu"),
        (ActivationSpec("swiglu", limit=math.nan), InvalidArgument, "None for no clamp"),
        (ActivationSpec("silu", limit=-1.0), InvalidArgument, "-1.0"),
        (ActivationSpec("situv2", limit=7.0), UnsupportedByEmulation, "no clamp"),
        (ActivationSpec("relu2", limit=7.0), UnsupportedByEmulation, "no clamp"),
        (ActivationSpec("silu", gated=False, limit=7.0), UnsupportedByEmulation, "non-gated"),
        (ActivationSpec("swiglu", gated=False), UnsupportedByEmulation, "no non-gated form"),
        (ActivationSpec("situv2", beta=0.0), InvalidArgument, "above 0"),
        (ActivationSpec("situv2", linear_beta=-1.0), InvalidArgument, "above 0"),
    ],
)
def test_what_has_no_formula_is_refused(spec, error, mentions):
    with pytest.raises(error, match=mentions):
        check_activation(spec)
