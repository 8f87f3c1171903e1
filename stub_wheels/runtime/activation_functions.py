"""The activations between the two GEMMs, in fp32."""

import torch

ALPHA = 1.702
DEFAULT_SWIGLU_LIMIT = 7.0
UNSAID_SITUV2_BETA = 1.0
"""Both betas, where none is given: what fused_moe_2stages (aiter/fused_moe.py, v0.1.19 on) hands to FlyDSL kernels.
The defaults of aiter/ops/flydsl/moe_common.py, 4.0 and 25.0, do not reach them."""

_PLAIN = {"Silu": torch.nn.functional.silu, "Gelu": torch.nn.functional.gelu}


def gated(name, gate, up, limit, beta, linear_beta):
    """The activation of the two halves; `limit` None means that none was given."""
    if name == "Swiglu":
        bound = DEFAULT_SWIGLU_LIMIT if limit is None else limit
        gate, up = gate.clamp(max=bound), up.clamp(-bound, bound)
        return gate * torch.sigmoid(ALPHA * gate) * (up + 1.0)
    if name == "Situv2":
        beta = UNSAID_SITUV2_BETA if beta is None else beta
        linear_beta = UNSAID_SITUV2_BETA if linear_beta is None else linear_beta
        return beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * linear_beta * torch.tanh(up / linear_beta)
    if limit is not None:
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return plain(name, gate) * up


def plain(name, values):
    """The activation of a weight without an up half."""
    if name not in _PLAIN:
        raise NotImplementedError(f"ActivationType.{name} is no plain activation")
    return _PLAIN[name](values)
