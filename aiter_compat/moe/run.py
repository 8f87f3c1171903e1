"""Run a planned call on the backend that was chosen."""

from __future__ import annotations

import dataclasses

import torch

from aiter_compat.backends.aiter_native import NativeCall, invoke, native_call
from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest, run, run_compiled, run_triton
from aiter_compat.backends.moe_call import MoECall
from aiter_compat.errors import UnsupportedByAiter
from aiter_compat.features import active_surface
from aiter_compat.moe.checks import FLOATING
from aiter_compat.moe.decide import Plan
from aiter_compat.moe.experts_map import mask_of_map
from aiter_compat.moe.stored_formats import stored_format

_PATHS = {"torch": run, "compiled": run_compiled, "triton": run_triton}


def run_plan(call: MoECall, plan: Plan) -> torch.Tensor:
    """Compute the call as planned; [M, H] in `call.dtype`."""
    if plan.expression is not None:
        return invoke(native_call_of(call, plan))
    return run_request(plan.decision.path, emulation_request(call, plan))


def run_request(path: str, request: EmulationRequest) -> torch.Tensor:
    """Compute a request by the emulation's path of this name."""
    return _PATHS[path](request)


def native_call_of(call: MoECall, plan: Plan) -> NativeCall:
    """The call in AITER's terms.

    Raises:
        UnsupportedByAiter: AITER is no longer there.
    """
    surface = active_surface()
    if surface is None or plan.expression is None:
        raise UnsupportedByAiter(["AITER was removed between the decision and the call"], "Call ac.refresh().")
    if call.expert_map is not None:
        call = dataclasses.replace(call, expert_mask=mask_of_map(call.expert_map))
    label = f"AITER {plan.decision.release or '(version unknown)'}"
    return native_call(call, surface, plan.expression.swiglu_limit, label)


def emulation_request(call: MoECall, plan: Plan) -> EmulationRequest:
    """The call in the emulation's terms."""
    if plan.profile is None:
        raise ValueError("the plan is not for the emulation")
    numbers = call.activation
    return EmulationRequest(
        hidden_states=call.hidden_states,
        w1=call.w1,
        w2=call.w2,
        topk_weight=call.topk_weight,
        topk_ids=call.topk_ids if call.expert_map is None else local_ids(call.topk_ids, call.expert_map),
        activation=ActivationSpec(
            name=numbers.function,  # type: ignore[arg-type]
            gated=numbers.gated,
            alpha=numbers.alpha,
            beta=numbers.beta,
            limit=numbers.limit,
            linear_beta=numbers.linear_beta,
        ),
        quant_type=call.quant_type,  # type: ignore[arg-type]
        weight_format=call.weight_format,  # type: ignore[arg-type]
        # codes that arrive quantised are not rounded again (aiter/fused_moe.py, fused_moe_2stages, v0.1.15.post3)
        qdq_first=plan.decision.activation_format if call.hidden_states.dtype in FLOATING else "none",
        qdq_second=plan.decision.activation_format,
        profile=plan.profile,
        out_dtype=call.dtype,
        expert_mask=call.expert_mask,
        w1_scale=call.w1_scale,
        w2_scale=call.w2_scale,
        a1_scale=call.a1_scale,
        a2_scale=call.a2_scale,
        bias1=call.bias1,
        bias2=call.bias2,
        doweight_stage1=call.doweight_stage1,
        num_local_tokens=call.num_local_tokens,
        weight_layout=plan.decision.weight_layout,  # type: ignore[arg-type]
        shared_w1=call.shared_w1,
        shared_w2=call.shared_w2,
        shared_w1_scale=call.shared_w1_scale,
        shared_w2_scale=call.shared_w2_scale,
        shared_weight_format=_shared_format(call),  # type: ignore[arg-type]
        shared_expert_id=call.shared_expert_id,
    )


def local_ids(topk_ids: torch.Tensor, expert_map: torch.Tensor) -> torch.Tensor:
    """Ids of this rank's experts; -1 for experts of other ranks and for ids that name no expert (padded tokens)."""
    ids = topk_ids.long()
    known = (ids >= 0) & (ids < expert_map.numel())
    return torch.where(known, expert_map[ids.clamp(0, expert_map.numel() - 1)], -1).to(torch.int32)


def _shared_format(call: MoECall) -> str | None:
    """Stored format of the shared expert: AITER's route for it has MXFP8 beside MXFP4 (aiter/fhmoe.py)."""
    if call.shared_w1 is None or call.quant_type != "per_1x32":
        return None
    return stored_format("shared_w1", call.shared_w1, call.quant_type)
