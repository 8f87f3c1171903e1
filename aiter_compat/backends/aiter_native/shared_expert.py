"""What AITER's route for a shared expert takes.

A call with a shared expert leaves the route of all others: `fused_moe` hands it to `aiter/fhmoe.py`, which checks it by
itself and gets fewer arguments. No signature shows that (v0.1.19.post1 to v0.1.20.post1, `_validate_fhmoe_contract`).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from aiter_compat.backends.moe_call import MoECall

_TENSORS = ("shared_w1", "shared_w2", "shared_w1_scale", "shared_w2_scale")
_NONE = -1  # AITER's id for "there is no shared expert"


def has_shared_expert(call: MoECall) -> bool:
    """Whether AITER would take the call down that route: any one of its arguments is enough."""
    return call.shared_expert_id != _NONE or any(getattr(call, name) is not None for name in _TENSORS)


def against_shared_expert(call: MoECall) -> Iterator[tuple[str, str]]:
    """Why AITER's route would not take the shared expert of this call: argument and reason, argument by argument."""
    route = "AITER's route for a shared expert (aiter/fhmoe.py)"
    absent = [name for name in _TENSORS if getattr(call, name) is None]
    if absent:
        yield absent[0], f"{', '.join(absent)}: {route} takes all of {', '.join(_TENSORS)}, or none"
    if call.shared_expert_id != call.experts - 1:
        yield (
            "shared_expert_id",
            f"shared_expert_id={call.shared_expert_id}: {route} puts it in the place of the last row of w1 and w2, "
            f"so it must be {call.experts - 1}",
        )
    if call.activation.function != "silu" or not call.activation.gated:
        form = call.activation.function if call.activation.gated else f"{call.activation.function} without an up half"
        yield "activation", f"activation={form}: {route} computes SiLU with an up half, and gets no beta"
    if call.quant_type != "per_1x32" or call.weight_format != "mxfp4":
        yield (
            "quant_type",
            f"quant_type={call.quant_type} over {call.weight_format} weights: {route} takes routed experts in MXFP4 "
            "(quant_type per_1x32) only",
        )
    elif any(one is not None and one.dtype != torch.float8_e4m3fn for one in (call.shared_w1, call.shared_w2)):
        yield "shared_w1", f"shared_w1 and shared_w2 must be torch.float8_e4m3fn: {route} takes MXFP8 there only"
    if call.gate_mode not in ("separated", "interleave"):
        yield "gate_mode", f"gate_mode={call.gate_mode}: {route} takes separated and interleave"
    if call.expert_mask is not None:
        yield "expert_mask", f"expert_mask: {route} takes none"
    if call.bias1 is not None or call.bias2 is not None:
        yield "bias", f"bias1 and bias2: {route} takes none"
