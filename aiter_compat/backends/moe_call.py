"""`MoECall`: one validated fused-MoE call in canonical names, the form that every backend reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from aiter_compat.profiles import NumericsProfile


@dataclass(frozen=True)
class ActivationNumbers:
    """The activation and its numbers, translated to one meaning.

    Attributes:
        function: canonical name.
        gated: False for the forms without an up projection.
        alpha: slope of SwiGLU-OAI.
        beta: up shift of SwiGLU-OAI, or SiTUv2's bound of the gate.
        linear_beta: SiTUv2's bound of the up projection.
        limit: clamp in force; None: no clamp.
        default_limit: the clamp that the activation has when nobody asks; None: none.
        constants_are_default: alpha, beta and linear_beta are those that AITER's kernels have.
    """

    function: str
    gated: bool
    alpha: float
    beta: float
    linear_beta: float | None
    limit: float | None
    default_limit: float | None
    constants_are_default: bool

    @property
    def limit_is_default(self) -> bool:
        """Whether every release clamps like this without being told."""
        return self.limit == self.default_limit


@dataclass(frozen=True, eq=False)
class MoECall:
    """One call.

    Sizes: M tokens, k experts per token, E local experts, H hidden, I intermediate; N is 2*I, or I without a gate.

    Attributes:
        hidden_states: [M, H], or packed [M, H/2].
        w1: [E, N, H] or packed [E, N, H/2].
        w2: [E, H, I] or packed [E, H, I/2].
        topk_weight: [M, k] fp32.
        topk_ids: [M, k] int32, global ids.
        expert_mask: [E_global] 0/1 or None.
        expert_map: [E_global] local id or -1, or None; `expert_mask` is None beside it.
        expert_map_in_order: local ids rise with global ids, as AITER's mask implies.
        activation: function and numbers.
        quant_type: canonical name.
        weight_format: stored format of w1 and w2 ("unquantised", "mxfp4", …).
        gate_mode: canonical gate mode.
        dtype: dtype of the result.
        tokens, hidden, intermediate, experts: M, H, I, E.
        weight_layout: "auto", "logical", "shuffle_16x16" or "a16w4" as stated.
        marked_shuffled: w1 or w2 carries AITER's `is_shuffled` attribute.
        activation_qdq: "as_aiter", "none" or a format.
        qdq_asked_by: name of the argument that asks for `activation_qdq`, for people.
        qdq_is_binding: an AITER path that uses another activation format is not eligible.
        backend: as asked for.
        numerics: as asked for; None: not asked.
        extra: keywords that no recorded release has.
        notes: what a person should know of how the call was made, for the decision.
    """

    hidden_states: torch.Tensor
    w1: torch.Tensor
    w2: torch.Tensor
    topk_weight: torch.Tensor
    topk_ids: torch.Tensor
    activation: ActivationNumbers
    quant_type: str
    weight_format: str
    gate_mode: str
    dtype: torch.dtype
    tokens: int
    hidden: int
    intermediate: int
    experts: int
    expert_mask: torch.Tensor | None = None
    expert_map: torch.Tensor | None = None
    expert_map_in_order: bool = True
    doweight_stage1: bool = False
    w1_scale: torch.Tensor | None = None
    w2_scale: torch.Tensor | None = None
    a1_scale: torch.Tensor | None = None
    a2_scale: torch.Tensor | None = None
    block_size_m: int | None = None
    num_local_tokens: torch.Tensor | None = None
    moe_sorting_dispatch_policy: int = 0
    hidden_pad: int = 0
    intermediate_pad: int = 0
    bias1: torch.Tensor | None = None
    bias2: torch.Tensor | None = None
    splitk: int = 0
    shared_w1: torch.Tensor | None = None
    shared_w2: torch.Tensor | None = None
    shared_w1_scale: torch.Tensor | None = None
    shared_w2_scale: torch.Tensor | None = None
    shared_expert_id: int = -1
    weight_layout: str = "auto"
    marked_shuffled: bool = False
    activation_qdq: str = "as_aiter"
    qdq_asked_by: str = "activation_qdq"
    qdq_is_binding: bool = False
    backend: str = "auto"
    numerics: NumericsProfile | str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def known_layout(self) -> str | None:
        """The layout of w1 and w2 as stated or as `is_shuffled` says; None when nothing says it."""
        if self.weight_layout != "auto":
            return self.weight_layout
        if self.marked_shuffled:
            return "a16w4" if self.gate_mode == "interleave" else "shuffle_16x16"
        return None
