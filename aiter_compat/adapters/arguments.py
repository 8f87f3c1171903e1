"""Every argument that a recorded release's `fused_moe` takes, ready to be sent."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class NativeArguments:
    """Values for AITER's `fused_moe`, under AITER's own names and already in this release's meaning.

    Attributes other than `extra` are AITER's parameters (v0.1.9 to v0.1.20.post1); an adapter sends those that its
    release has. `extra` holds keywords of releases that are not recorded, sent as they are.
    """

    hidden_states: Any
    w1: Any
    w2: Any
    topk_weight: Any
    topk_ids: Any
    expert_mask: Any
    activation: Any
    quant_type: Any
    doweight_stage1: bool = False
    w1_scale: Any = None
    w2_scale: Any = None
    a1_scale: Any = None
    a2_scale: Any = None
    block_size_M: int | None = None  # noqa: N815 - AITER's name
    num_local_tokens: Any = None
    moe_sorting_dispatch_policy: int = 0
    dtype: Any = None
    hidden_pad: int = 0
    intermediate_pad: int = 0
    bias1: Any = None
    bias2: Any = None
    splitk: int = 0
    swiglu_limit: float | None = None
    gate_mode: str = "separated"
    beta: float | None = None
    linear_beta: float | None = None
    shared_w1: Any = None
    shared_w2: Any = None
    shared_w1_scale: Any = None
    shared_w2_scale: Any = None
    shared_expert_id: int = -1
    extra: dict[str, Any] = field(default_factory=dict)


ARGUMENTS: frozenset[str] = frozenset(f.name for f in dataclasses.fields(NativeArguments)) - {"extra"}

OPERANDS = ("hidden_states", "w1", "w2", "topk_weight", "topk_ids")  # what no call can do without
