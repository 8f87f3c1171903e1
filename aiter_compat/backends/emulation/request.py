"""What the emulation is asked to compute: one dataclass for the activation, one for the whole call.

A request is already translated: names instead of AITER enums, limits with one meaning, formats instead of
batch-size rules. Whoever builds it (the call layer) knows AITER's conventions; the emulation knows arithmetic
only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch

from aiter_compat.profiles import NumericsProfile

ActivationName: TypeAlias = Literal["silu", "gelu", "gelu_tanh", "swiglu", "swiglustep", "situv2", "relu2"]
QuantTypeName: TypeAlias = Literal["no", "per_tensor", "per_token", "per_1x32", "per_1x128", "per_128x128"]
WeightFormat: TypeAlias = Literal[
    "unquantised", "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2", "fp8", "int4"
]
WeightLayout: TypeAlias = Literal["logical", "shuffle_16x16", "a16w4"]
GateRows: TypeAlias = Literal["separated", "interleaved"]


@dataclass(frozen=True)
class ActivationSpec:
    """The function between the two GEMMs, with its numbers.

    Attributes:
        name: which function; `activations` holds the formulas.
        gated: True when w1 has a gate and an up half, False when it has one half only.
        alpha: slope inside the sigmoid of `swiglu`; other functions do not read it.
        beta: what `swiglu` adds to the up half (1.0 in SwiGLU-OAI), or the gate's saturation of `situv2`
            (AITER: 4.0).
        limit: clamp of gate (above) and up (both sides); None means no clamp. AITER's other spellings of
            "default" and "none" (0.0, infinity) have been translated by the caller.
        linear_beta: saturation of `situv2`'s up half (AITER: 25.0); None leaves the up half linear.
    """

    name: ActivationName
    gated: bool = True
    alpha: float = 1.702
    beta: float = 1.0
    limit: float | None = None
    linear_beta: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class EmulationRequest:
    """One fused MoE call. Tensors are read, never written.

    Sizes: M tokens, k slots a token, E local experts, H hidden, I intermediate; N1 is 2*I when gated, else I.

    Attributes:
        hidden_states: [M, H] floating point, or codes that are quantised already: packed MXFP4 [M, H/2]
            (uint8 or float4_e2m1fn_x2), or float8_e4m3fn [M, H]; codes need `a1_scale`.
        w1: [E, N1, K1] codes or values, K1 = H, or H/2 when two codes share a byte.
        w2: [E, H, K2] likewise, K2 = I or I/2.
        topk_weight: [M, k] fp32 routing weights.
        topk_ids: [M, k] integer global expert ids; an id outside the experts of this rank contributes
            nothing.
        activation: the function between the GEMMs.
        quant_type: AITER's name of how weights (and activations) are scaled.
        weight_format: how a code of w1 and w2 reads.
        qdq_first: format that hidden_states are rounded through before the first GEMM, "none" for not at all.
        qdq_second: the same for the activation's output before the second GEMM.
        profile: the arithmetic to follow.
        out_dtype: dtype of the result; torch.float32 returns the sum unrounded.
        expert_mask: [E_global] with 1 for the experts of this rank, None when all are (AITER's convention,
            not a map).
        w1_scale: e8m0 bytes (uint8 or float8_e8m0fnu) [E, N1, H/32] or [E*N1, H/32] for MX formats; fp32 for
            fp8: [E], [E, 1] or [E, 1, 1] per tensor, [E, N1, 1] per row, [E, N1/128, H/128] per 128x128.
        w2_scale: the same for w2.
        a1_scale: scale of pre-quantised hidden_states, or the static scale that fp8 QDQ uses in place of a
            dynamic one.
        a2_scale: static fp8 scale of the second QDQ.
        bias1: [E, N1] added to the first GEMM; in the row order of w1 as `gate_rows` says.
        bias2: [E, H] added to the second GEMM, before the routing weight.
        doweight_stage1: apply the routing weight in stage 1 (where, says the profile) instead of stage 2.
        num_local_tokens: tensor of one element or int; rows of hidden_states from there on are not computed
            and give 0.
        weight_layout: memory layout of w1 and w2, and of e8m0 scales with them.
        gate_rows: "interleaved" when rows of w1 and bias1 alternate g0, u0, g1, u1 as in a gpt-oss
            checkpoint; only with layout "logical". Not to be confused with AITER's GateMode.INTERLEAVE, which
            is the layout "a16w4".
        shared_w1: [1, N1, K1] or [N1, K1] first matrix of a shared expert, in the layout and gate order of
            w1.
        shared_w2: its second matrix.
        shared_w1_scale: scale of shared_w1.
        shared_w2_scale: scale of shared_w2.
        shared_weight_format: how a code of the shared matrices reads; None means as `weight_format`.
        shared_expert_id: -1 adds the shared expert to every token with weight 1; an id makes the slots that
            name it use the shared matrices instead of that row of w1 and w2 (what AITER's FHMoE does from
            v0.1.19.post1 on, aiter/fhmoe.py).
        zero_weight_rule: a slot whose routing weight is exactly 0 contributes 0 even for a token of Inf or
            NaN (AITER's kernels since v0.1.15.post3, pull request 3677; its Python reference lets NaN
            through).
    """

    hidden_states: torch.Tensor
    w1: torch.Tensor
    w2: torch.Tensor
    topk_weight: torch.Tensor
    topk_ids: torch.Tensor
    activation: ActivationSpec
    quant_type: QuantTypeName
    weight_format: WeightFormat
    qdq_first: str
    qdq_second: str
    profile: NumericsProfile
    out_dtype: torch.dtype
    expert_mask: torch.Tensor | None = None
    w1_scale: torch.Tensor | None = None
    w2_scale: torch.Tensor | None = None
    a1_scale: torch.Tensor | None = None
    a2_scale: torch.Tensor | None = None
    bias1: torch.Tensor | None = None
    bias2: torch.Tensor | None = None
    doweight_stage1: bool = False
    num_local_tokens: torch.Tensor | int | None = None
    weight_layout: WeightLayout = "logical"
    gate_rows: GateRows = "separated"
    shared_w1: torch.Tensor | None = None
    shared_w2: torch.Tensor | None = None
    shared_w1_scale: torch.Tensor | None = None
    shared_w2_scale: torch.Tensor | None = None
    shared_weight_format: WeightFormat | None = None
    shared_expert_id: int = -1
    zero_weight_rule: bool = True

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> EmulationRequest:
        """A request from a dictionary of all fields, which becomes its own.

        The constructor of a frozen class sets one field after the other, which takes longer than to decide what is done
        with a call.
        """
        request = object.__new__(cls)
        object.__setattr__(request, "__dict__", fields)
        return request
