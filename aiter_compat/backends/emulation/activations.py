"""The functions between the two GEMMs, in fp32, as AITER's Python reference and the hosts define them.

Sources: `torch_moe_stage1`, `swiglu` (v0.1.15.post3) and `situv2` (v0.1.20.post1) in aiter/fused_moe.py;
swiglustep, relu2 and the tanh form of gelu as vLLM's fused_moe/activation.py has them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from aiter_compat.backends.emulation.request import ActivationSpec, GateRows
from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation

# These have no clamp in any implementation that we follow, so a limit would be dropped silently.
_WITHOUT_LIMIT = ("situv2", "relu2")
# These are defined by their product with the up half.
_GATED_ONLY = ("swiglu", "swiglustep", "situv2")


def _gelu(x: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x)


def _gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x, approximate="tanh")


def _relu2(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x).square()


_POINTWISE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": functional.silu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "relu2": _relu2,
}
ACTIVATION_NAMES = (*_POINTWISE, *_GATED_ONLY)


def check_activation(spec: ActivationSpec) -> None:
    """Refuse a specification that no formula covers.

    Raises:
        InvalidArgument: an unknown name, or a limit that is not a number above or equal to 0.
        UnsupportedByEmulation: a combination without a definition (a limit where the function has none, a
            function of gate and up without an up half).
    """
    if spec.name not in ACTIVATION_NAMES:
        raise InvalidArgument("activation", spec.name, ", ".join(ACTIVATION_NAMES))
    if spec.limit is not None:
        if not spec.limit >= 0:  # also false for NaN
            raise InvalidArgument(
                "activation limit", spec.limit, "a number >= 0, or None for no clamp", "Leave the limit out."
            )
        if spec.name in _WITHOUT_LIMIT:
            raise UnsupportedByEmulation(
                f"activation {spec.name!r} has no clamp, so limit={spec.limit} has no meaning."
            )
        if not spec.gated:
            raise UnsupportedByEmulation(
                f"the non-gated form of {spec.name!r} has no clamp in AITER, so limit={spec.limit} has no meaning."
            )
    if not spec.gated and spec.name in _GATED_ONLY:
        raise UnsupportedByEmulation(
            f"activation {spec.name!r} is a function of gate and up; it has no non-gated form."
        )
    if spec.name == "situv2" and (not spec.beta > 0 or (spec.linear_beta is not None and not spec.linear_beta > 0)):
        raise InvalidArgument(
            "activation beta, linear_beta", (spec.beta, spec.linear_beta), "numbers above 0 for situv2"
        )


def split_gate_up(x: torch.Tensor, gate_rows: GateRows) -> tuple[torch.Tensor, torch.Tensor]:
    """Views of the gate and the up half of a first GEMM's output.

    Args:
        x: [..., 2*I].
        gate_rows: whether the columns are [gate; up] or alternate g0, u0, g1, u1.

    Returns:
        gate and up, each [..., I].
    """
    if gate_rows == "interleaved":
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def activate(x: torch.Tensor, spec: ActivationSpec, gate_rows: GateRows = "separated") -> torch.Tensor:
    """Apply the activation to the first GEMM's output.

    Args:
        x: [..., 2*I] fp32 when gated, else [..., I].
        spec: the function, checked by `check_activation`.
        gate_rows: order of gate and up columns; not read when the function is not gated.

    Returns:
        [..., I] fp32.
    """
    if not spec.gated:
        return _POINTWISE[spec.name](x)
    gate, up = split_gate_up(x, gate_rows)
    if spec.name == "swiglustep":
        return _swiglustep(gate, up, spec.limit)
    if spec.limit is not None:
        gate = gate.clamp(max=spec.limit)
        up = up.clamp(min=-spec.limit, max=spec.limit)
    if spec.name == "swiglu":
        return gate * torch.sigmoid(spec.alpha * gate) * (up + spec.beta)
    if spec.name == "situv2":
        return _situv2(gate, up, spec.beta, spec.linear_beta)
    return _POINTWISE[spec.name](gate) * up


def _swiglustep(gate: torch.Tensor, up: torch.Tensor, limit: float | None) -> torch.Tensor:
    # Unlike every other one it clamps the gate after the sigmoid, not before.
    activated = functional.silu(gate)
    if limit is None:
        return activated * up
    return activated.clamp(max=limit) * up.clamp(min=-limit, max=limit)


def _situv2(gate: torch.Tensor, up: torch.Tensor, beta: float, linear_beta: float | None) -> torch.Tensor:
    saturated = beta * torch.tanh(gate / beta) * torch.sigmoid(gate)
    return saturated * up if linear_beta is None else saturated * (linear_beta * torch.tanh(up / linear_beta))
