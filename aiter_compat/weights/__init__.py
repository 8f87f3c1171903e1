"""Experts' weights with the layout they lie in: `MoEWeights`, and moving them between layouts."""

from aiter_compat.weights.moe_weights import MoEWeights
from aiter_compat.weights.relay import relay_weights, target_layout

__all__ = ["MoEWeights", "relay_weights", "target_layout"]
