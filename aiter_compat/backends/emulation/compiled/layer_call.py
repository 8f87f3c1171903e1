"""All that the layer kernel is told about a call: sizes, codes of the choices, addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple


class LayerCall(NamedTuple):
    """One call, as numbers; addresses are those of memory that outlives the call.

    M tokens, k choices, E experts, H hidden, I intermediate, B = columns / 32 blocks a row. The numbers of a call come
    first, `CALL_FIELDS` of them, then those of its plan (`layer_plan`), which are the same for every call of a layer.
    Each lies in memory of its own, so that a call writes no more than changes.
    """

    tokens: int
    hidden_states: int
    topk_ids: int
    topk_weights: int
    local_of_global: int
    """int64 [global_experts], -1 for experts of other ranks; 0: global and local ids are the same."""
    global_experts: int
    w1: int
    w1_scale: int
    w2: int
    w2_scale: int
    bias1: int
    """0 for none."""
    bias2: int
    out: int
    shared: int
    """int64 [SHARED_WORDS] zeros: what the threads of the call share."""
    rows1: int
    """[M] rows of the first product's activations."""
    rows2: int
    """[M * k] rows of the second product's, in the order of the experts."""
    results: int
    """fp32 [M * k, H] in the order of the experts."""
    order: int
    """int64 [M * k]: slot numbers in the order of the experts."""
    position: int
    """int64 [M * k]: where a slot is in that order, -1 for a slot without an expert."""
    bounds: int
    """int64 [E + 1]."""
    occurring: int
    """int64 [E]: the experts that occur."""

    choices: int
    experts: int
    hidden: int
    intermediate: int
    hidden_row_bytes: int
    hidden_kind: int
    topk_id_bytes: int
    skip_zero_weights: int
    w1_expert_bytes: int
    w1_row_bytes: int
    w2_expert_bytes: int
    w2_row_bytes: int
    bias1_kind: int
    bias2_kind: int
    gated: int
    gate_row_step: int
    """Feature i has its gate in row i * step and its up value in row first_up_row + i * step."""
    first_up_row: int
    activation: int
    alpha: float
    beta: float
    limit: float
    linear_beta: float
    weight_before_bias: int
    weight_after_activation: int
    weight_in_stage2: int
    rounding1: int
    rule1: int
    rounding2: int
    rule2: int
    amax_floor: float
    activated_kind: int
    slot_kind: int
    sum_kind: int
    out_kind: int
    multiply_tile: int
    """Addresses of functions that are compiled on their own."""
    store_block: int
    activate: int


CALL_FIELDS = LayerCall._fields.index("choices")
FLOATS = ("alpha", "beta", "limit", "linear_beta", "amax_floor")
"""Fields that are fp64; all others are int64."""
SHARED_WORDS = 80
CALL_NUMBERS = struct.Struct(f"{8 * SHARED_WORDS}x{CALL_FIELDS}q")
"""What is written for a call: zeros that its threads share, then its numbers."""
PLAN_NUMBERS = struct.Struct("".join("d" if name in FLOATS else "q" for name in LayerCall._fields[CALL_FIELDS:]))


class LayerKernel(NamedTuple):
    """The compiled code."""

    run: Callable[[int, int], None]
    """Take part in a layer; gets the addresses of `CALL_NUMBERS` and of `PLAN_NUMBERS`."""
    multiply_tile: int
    """Addresses for the fields of `LayerCall` of the same names."""
    store_block: int
    activate: int
