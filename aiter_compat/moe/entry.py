"""`fused_moe`: AITER's own call, on any release or none; `explain`: what it would do and why."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from aiter_compat.moe.build import build_call
from aiter_compat.moe.decide import plan_call
from aiter_compat.moe.decision import Decision
from aiter_compat.moe.fronts import FUSED_MOE
from aiter_compat.moe.operator import needs_operator, traced_fused_moe
from aiter_compat.moe.serving import serve
from aiter_compat.profiles import NumericsProfile


@FUSED_MOE.before
def fused_moe(
    hidden_states: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    topk_weight: torch.Tensor,
    topk_ids: torch.Tensor,
    expert_mask: torch.Tensor | None = None,
    activation: Any = "silu",
    quant_type: Any = "no",
    doweight_stage1: bool = False,
    w1_scale: torch.Tensor | None = None,
    w2_scale: torch.Tensor | None = None,
    a1_scale: torch.Tensor | None = None,
    a2_scale: torch.Tensor | None = None,
    *,
    block_size_M: int | None = None,  # noqa: N803 - AITER's name
    num_local_tokens: torch.Tensor | None = None,
    moe_sorting_dispatch_policy: int = 0,
    dtype: torch.dtype | None = None,
    hidden_pad: int = 0,
    intermediate_pad: int = 0,
    bias1: torch.Tensor | None = None,
    bias2: torch.Tensor | None = None,
    splitk: int = 0,
    swiglu_limit: float | None = None,
    gate_mode: Any = None,
    beta: float | None = None,
    linear_beta: float | None = None,
    shared_w1: torch.Tensor | None = None,
    shared_w2: torch.Tensor | None = None,
    shared_w1_scale: torch.Tensor | None = None,
    shared_w2_scale: torch.Tensor | None = None,
    shared_expert_id: int = -1,
    backend: str = "auto",
    numerics: NumericsProfile | str | None = None,
    activation_qdq: str = "as_aiter",
    weight_layout: str = "auto",
    **extra: Any,
) -> torch.Tensor:
    """AITER's `aiter.fused_moe.fused_moe` with one meaning on every release, and an emulation where AITER cannot serve.

    Sizes: M tokens, k experts per token, E local experts, H hidden, I intermediate; N = 2*I, or I without an up half.
    A packed MXFP4 dimension holds half as many bytes. Values are AITER's (v0.1.20 aiter/fused_moe.py) where not stated.

    Args:
        hidden_states: [M, H] bf16, fp16 or fp32; or quantised (fp8, packed MXFP4 [M, H/2]) with `a1_scale`.
        w1: [E, N, H], rows [gate; up].
        w2: [E, H, I].
        topk_weight: [M, k] routing weights, converted to fp32.
        topk_ids: [M, k] global expert ids, converted to int32.
        expert_mask: [experts of all ranks], 1 for the local ones, in AITER's convention; a map with -1 is refused.
        activation: silu, gelu, gelu_tanh, swiglu (SwiGLU-OAI), situv2, swiglustep, relu2; a member of
            `ac.ActivationType`; or its integer.
        quant_type: no, per_tensor, per_token, per_1x32, per_1x128, per_128x128; a member of `ac.QuantType`; or its
            integer.
        doweight_stage1: apply the routing weight in stage 1.
        w1_scale: per_1x32: e8m0 bytes [E, N, H/32] or [E*N, H/32]; per_token: fp32 [E, N, 1]; per_tensor: fp32 [E, 1]
            or [E, N, 1]; per_128x128: fp32 [E, N/128, H/128].
        w2_scale: the same for w2.
        a1_scale: scale of quantised hidden states, or a static activation scale.
        a2_scale: static scale of the intermediate activations.
        block_size_M: tile hint for AITER; never changes a result.
        num_local_tokens: [1] int32, rows of hidden_states that count.
        moe_sorting_dispatch_policy: hint for AITER; never changes a result.
        dtype: of the result; None: that of hidden_states. torch.float32 (unrounded) is served by the emulation alone.
        hidden_pad: columns of padding at the end of H; AITER may skip them, so they must be zero in the weights.
        intermediate_pad: rows of padding at the end of each gate/up half, likewise.
        bias1: [E, N], order [gate; up].
        bias2: [E, H].
        splitk: accepted and without effect, as in every AITER release.
        swiglu_limit: None or 0.0: the activation's own (7.0 for SwiGLU-OAI, none for SiLU and GELU); positive: clamp;
            `math.inf`: no clamp.
        gate_mode: None or "separated"; "interleave" for weights in the a16w4 layout; a member of `ac.GateMode`.
        beta: SiTUv2's bound of the gate.
        linear_beta: SiTUv2's bound of the up projection.
        shared_w1: weights of a shared expert, as `w1`.
        shared_w2: as `w2`.
        shared_w1_scale: as `w1_scale`.
        shared_w2_scale: as `w2_scale`.
        shared_expert_id: as in AITER from v0.1.19.post1 on.
        backend: auto, aiter, emulation (or torch, compiled, triton: the emulation's paths of those
            names).
        numerics: profile for the emulation: a name ("aiter-0.1.15", "quark", "ocp", …) or `ac.numerics(...)`. None: the
            installed AITER's arithmetic, without one that of aiter-0.1.15.
        activation_qdq: "as_aiter" (the release's own choice), "none", or a format: mxfp4, mxfp6_e2m3, mxfp6_e3m2,
            mxfp8, mxfp8_e5m2, fp8_cast, fp8_tensor, fp8_token.
        weight_layout: auto, logical, shuffle_16x16 or a16w4. auto: by AITER's `is_shuffled` mark, else logical.
        **extra: keywords of AITER releases that are not recorded here; checked against the installed files.

    Returns:
        [M, H] in `dtype`.

    Raises:
        InvalidArgument: an argument does not fit, whatever is installed.
        UnsupportedByAiter: AITER was asked for and this release cannot express the call.
        AiterImportError: AITER was asked for and is absent or fails to import.
        LayoutUnknown: nothing states how the weights lie and it decides the result.
        UnsupportedByEmulation: the emulation does not have what the call asks for.
    """
    arguments: dict[str, Any] = {
        "hidden_states": hidden_states,
        "w1": w1,
        "w2": w2,
        "topk_weight": topk_weight,
        "topk_ids": topk_ids,
        "expert_mask": expert_mask,
        "activation": activation,
        "quant_type": quant_type,
        "doweight_stage1": doweight_stage1,
        "w1_scale": w1_scale,
        "w2_scale": w2_scale,
        "a1_scale": a1_scale,
        "a2_scale": a2_scale,
        "block_size_M": block_size_M,
        "num_local_tokens": num_local_tokens,
        "moe_sorting_dispatch_policy": moe_sorting_dispatch_policy,
        "dtype": dtype,
        "hidden_pad": hidden_pad,
        "intermediate_pad": intermediate_pad,
        "bias1": bias1,
        "bias2": bias2,
        "splitk": splitk,
        "swiglu_limit": swiglu_limit,
        "gate_mode": gate_mode,
        "beta": beta,
        "linear_beta": linear_beta,
        "shared_w1": shared_w1,
        "shared_w2": shared_w2,
        "shared_w1_scale": shared_w1_scale,
        "shared_w2_scale": shared_w2_scale,
        "shared_expert_id": shared_expert_id,
        "backend": backend,
        "numerics": numerics,
        "activation_qdq": activation_qdq,
        "weight_layout": weight_layout,
    }
    if needs_operator(hidden_states):
        return traced_fused_moe(arguments, extra)
    return serve(FUSED_MOE, arguments, build_call, extra)


def explain(*args: Any, **kwargs: Any) -> Decision:
    """What `fused_moe` or `fused_experts` would do with the same arguments, and why; runs no kernel.

    The second argument (or `weights=`) decides which of the two is meant: `MoEWeights` means `fused_experts`. AITER may
    be imported to learn whether it works; no warning is issued.

    Raises:
        AiterCompatError: the same error that the call would raise.
        TypeError: the arguments do not fit the signature of the call.
    """
    from aiter_compat.moe.experts import build_experts_call, fused_experts
    from aiter_compat.weights import MoEWeights

    if "weights" in kwargs or (len(args) > 1 and isinstance(args[1], MoEWeights)):
        bound = inspect.signature(fused_experts).bind(*args, **kwargs)
        bound.apply_defaults()
        return plan_call(build_experts_call(**bound.arguments), quiet=True).decision
    bound = inspect.signature(fused_moe).bind(*args, **kwargs)
    bound.apply_defaults()
    return plan_call(build_call(**bound.arguments), quiet=True).decision
