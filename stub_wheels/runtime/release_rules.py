"""What a release does behind its signature, as far as the signature tells."""

import inspect
from dataclasses import dataclass


@dataclass(frozen=True)
class ReleaseRules:
    """The rules that this stub computes by.

    Attributes:
        has_gate_mode: the caller says how gate and up rows lie. Without it (up to v0.1.13.post1) per_1x32 weights of a
            Swiglu are read as interleaved, and only w1's `is_shuffled` counts.
        limit_may_be_none: `swiglu_limit` is `float?` (from v0.1.17): None is unset and 0.0 clamps at 0. Where it is
            `float` (v0.1.14 to v0.1.16), None is refused and 0.0 is unset.
    """

    has_gate_mode: bool
    limit_may_be_none: bool


def rules_of(fused_moe):
    """The rules of the release whose function this is."""
    parameters = inspect.signature(fused_moe).parameters
    limit = parameters.get("swiglu_limit")
    return ReleaseRules(
        has_gate_mode="gate_mode" in parameters,
        limit_may_be_none=limit is not None and limit.default is None,
    )
