"""The activations between the two GEMMs, in fp32."""

import torch

ALPHA = 1.702
DEFAULT_SWIGLU_LIMIT = 7.0
SITUV2_BETA, SITUV2_LINEAR_BETA = 4.0, 25.0
"""aiter/ops/flydsl/moe_common.py at v0.1.20.post1."""

_PLAIN = {"Silu": torch.nn.functional.silu, "Gelu": torch.nn.functional.gelu}


def gated(name, gate, up, limit, beta, linear_beta):
    """The activation of the two halves; `limit` None means that none was given."""
    if name == "Swiglu":
        bound = DEFAULT_SWIGLU_LIMIT if limit is None else limit
        gate, up = gate.clamp(max=bound), up.clamp(-bound, bound)
        return gate * torch.sigmoid(ALPHA * gate) * (up + 1.0)
    if name == "Situv2":
        beta = SITUV2_BETA if beta is None else beta
        linear_beta = SITUV2_LINEAR_BETA if linear_beta is None else linear_beta
        return beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * linear_beta * torch.tanh(up / linear_beta)
    if limit is not None:
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return plain(name, gate) * up


def plain(name, values):
    """The activation of a weight without an up half."""
    if name not in _PLAIN:
        raise NotImplementedError(f"ActivationType.{name} is no plain activation")
    return _PLAIN[name](values)
