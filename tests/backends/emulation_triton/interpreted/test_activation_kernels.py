"""The activations of the kernels agree with the torch path's, NaN and huge values included."""

import pytest
import torch
import triton
import triton.language as tl

from aiter_compat.backends.emulation import ActivationSpec
from aiter_compat.backends.emulation.activations import activate
from aiter_compat.backends.emulation.triton_path.kernels.activation_functions import activated

SPECS = [
    ActivationSpec("silu"),
    ActivationSpec("silu", limit=1.0),
    ActivationSpec("silu", gated=False),
    ActivationSpec("gelu"),
    ActivationSpec("gelu_tanh"),
    ActivationSpec("relu2"),
    ActivationSpec("relu2", gated=False),
    ActivationSpec("swiglu", alpha=1.3, beta=0.5, limit=7.0),
    ActivationSpec("swiglustep", limit=2.0),
    ActivationSpec("situv2", beta=4.0),
    ActivationSpec("situv2", beta=4.0, linear_beta=25.0),
]
SIZE = 512
# The interpreter computes in numpy, which warns of what these values are there for.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


@triton.jit
def apply(
    gate, up, out, alpha, beta, limit, linear_beta,
    NAME: tl.constexpr, GATED: tl.constexpr, LINEAR_BETA: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    at = tl.arange(0, COUNT)
    result = activated(tl.load(gate + at), tl.load(up + at), alpha, beta, limit, linear_beta, NAME, GATED, LINEAR_BETA)
    tl.store(out + at, result)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_same_function(spec):
    generator = torch.Generator().manual_seed(1)
    gate, up = torch.randn(2, SIZE, generator=generator) * torch.tensor([3.0, 0.01]).repeat(SIZE // 2)
    gate[:6] = torch.tensor([0.0, -0.0, 30.0, -30.0, 1e30, float("nan")])
    out = torch.empty(SIZE)
    limit = float("inf") if spec.limit is None else spec.limit
    apply[(1,)](
        gate, up, out, spec.alpha, spec.beta, limit, spec.linear_beta or 0.0,
        spec.name, spec.gated, spec.linear_beta is not None, SIZE,
    )  # fmt: skip
    # 1 + erf and 1 + tanh cancel for negative gates, in torch as here.
    atol = 3e-6 if spec.name.startswith("gelu") else 1e-30
    right = activate(torch.cat([gate, up]) if spec.gated else gate, spec)
    torch.testing.assert_close(out, right, rtol=3e-6, atol=atol, equal_nan=True)
