"""The calls that a host makes: validate, decide, run."""

from aiter_compat.moe.decision import Decision, Rejection
from aiter_compat.moe.entry import explain, fused_moe
from aiter_compat.moe.experts import fused_experts
from aiter_compat.moe.prepare import prepare_weights

__all__ = ["Decision", "Rejection", "explain", "fused_experts", "fused_moe", "prepare_weights"]
