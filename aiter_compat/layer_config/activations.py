"""Activation names as hosts use them, and what each means to AITER.

The names are those of vLLM's `MoEActivation` (vllm/model_executor/layers/fused_moe/activation.py, 0.33.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GateLayout = Literal["separated", "interleaved"]


@dataclass(frozen=True)
class HostActivation:
    """One activation of a host.

    Attributes:
        function: canonical activation name, the one `fused_moe(activation=)` takes.
        gate_mode: AITER's gate mode for quantised activations.
        gate_layout: how checkpoints with this activation order the rows of w1: "separated" [gate; up], or
            "interleaved" (gpt-oss: g0, u0, g1, u1, bias included).
        gated: False for the forms without an up projection (`…_no_mul`).
        alpha: slope inside the sigmoid of SwiGLU-OAI; None where the formula has none.
        beta: shift of the up projection for SwiGLU-OAI, tanh bound of the gate for SiTUv2; None where there is none.
        linear_beta: tanh bound of the up projection (SiTUv2), else None.
        limit: clamp that belongs to the activation; None: it has no clamp of its own.
    """

    function: str
    gate_mode: Literal["separated", "interleave"] = "separated"
    gate_layout: GateLayout = "separated"
    gated: bool = True
    alpha: float | None = None
    beta: float | None = None
    linear_beta: float | None = None
    limit: float | None = None


# SwiGLU-OAI constants: AITER v0.1.15.post3 aiter/fused_moe.py `swiglu`; SiTUv2: v0.1.20 moe_common.py.
SWIGLU_ALPHA = 1.702
SWIGLU_BETA = 1.0
SWIGLU_LIMIT = 7.0
SITUV2_BETA = 4.0
SITUV2_LINEAR_BETA = 25.0

HOST_ACTIVATIONS: dict[str, HostActivation] = {
    "silu": HostActivation("silu"),
    "gelu": HostActivation("gelu"),
    "gelu_tanh": HostActivation("gelu_tanh"),
    "swigluoai": HostActivation(
        "swiglu", "interleave", "interleaved", alpha=SWIGLU_ALPHA, beta=SWIGLU_BETA, limit=SWIGLU_LIMIT
    ),
    "swigluoai_uninterleave": HostActivation("swiglu", alpha=SWIGLU_ALPHA, beta=SWIGLU_BETA, limit=SWIGLU_LIMIT),
    "swiglustep": HostActivation("swiglustep", limit=SWIGLU_LIMIT),
    "situv2": HostActivation("situv2", beta=SITUV2_BETA, linear_beta=SITUV2_LINEAR_BETA),
    "relu2": HostActivation("relu2"),
    "silu_no_mul": HostActivation("silu", gated=False),
    "gelu_no_mul": HostActivation("gelu", gated=False),
    "gelu_tanh_no_mul": HostActivation("gelu_tanh", gated=False),
    "relu2_no_mul": HostActivation("relu2", gated=False),
}
