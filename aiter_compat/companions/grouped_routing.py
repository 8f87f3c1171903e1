"""Top-k routing within groups of experts: `grouped_topk` and `biased_grouped_topk` (DeepSeek-V2, V3).

Scores in fp32; AITER uses the hardware's exp2 and reciprocal, so weights agree to a few units in the last place.
Sources: v0.1.20.post1 csrc/kernels/topk_softmax_kernels_group.cu and aiter/ops/topk.py; the same since v0.1.12. AITER's
torch references (grouped_topk_torch, biased_grouped_topk_torch) mask experts of other groups with 0 instead of -Inf and
may choose one where every score of a chosen group is negative; the kernels do not, nor does this.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aiter_compat.companions.ranking import best, best_by_column, within_groups
from aiter_compat.companions.serving import native
from aiter_compat.companions.tensor_checks import need_choice, need_gating, need_output
from aiter_compat.errors import InvalidArgument
from aiter_compat.moe.checks import need_tensor

_GROUP_COUNTS = (1, 2, 4, 8)
_IDS = (torch.int32, torch.uint32)
_COUNTING_KERNEL = (256, 8, 4, 8)
"""Experts, groups, chosen groups and k that AITER gives to the kernel that counts instead of sorting."""


def grouped_topk(
    gating_output: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    num_expert_group: int,
    topk_group: int,
    need_renorm: bool,
    is_softmax: bool = True,
    routed_scaling_factor: float = 1.0,
    *,
    backend: str = "auto",
) -> None:
    """AITER's `aiter.grouped_topk`: score, keep the groups with the largest scores, take the k largest of those.

    A group counts as its largest score; equal groups in their order. Weights are written in descending order of score,
    equal scores in the order of the experts (AITER leaves the latter open). NaN counts as the lowest score. The
    signature is that of every release from v0.1.5 to v0.1.20.post1.

    Args:
        gating_output: [M, E] fp32, bf16 or fp16, rows of any stride.
        topk_weights: fp32 [M, k], any row stride: written.
        topk_ids: int32 [M, k], same row stride: written. Its width is k.
        num_expert_group: G: 1, 2, 4 or 8, a divisor of E.
        topk_group: groups to keep, 1 to G.
        need_renorm: divide the k weights by their sum.
        is_softmax: softmax over all E, else sigmoid.
        routed_scaling_factor: every weight is multiplied by it.
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a rank, shape, dtype or number of groups does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    gating, k = _checked(gating_output, topk_weights, topk_ids, num_expert_group, topk_group)
    arguments = {
        "gating_output": gating,
        "topk_weights": topk_weights,
        "topk_ids": topk_ids,
        "num_expert_group": num_expert_group,
        "topk_group": topk_group,
        "need_renorm": need_renorm,
        "is_softmax": is_softmax,
        "routed_scaling_factor": routed_scaling_factor,
    }
    defaults = {"is_softmax": True, "routed_scaling_factor": 1.0}
    call = native("grouped_topk", arguments, gating.device, backend, defaults=defaults)
    if call is not None:
        call()
        return
    logits = gating.float()
    scores = logits.softmax(-1) if is_softmax else logits.sigmoid()
    group_scores = _by_group(scores, num_expert_group).amax(-1)
    chosen = best(within_groups(scores, num_expert_group, best(group_scores, topk_group)), k)
    _write(topk_weights, topk_ids, scores, chosen, need_renorm, routed_scaling_factor)


def biased_grouped_topk(
    gating_output: Tensor,
    correction_bias: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    num_expert_group: int,
    topk_group: int,
    need_renorm: bool,
    routed_scaling_factor: float = 1.0,
    *,
    backend: str = "auto",
) -> None:
    """AITER's `aiter.biased_grouped_topk`: choose by sigmoid + bias within groups, weigh by the sigmoid alone.

    A group counts as the sum of its two largest biased scores (of its one score, where a group is a single expert);
    equal groups in their order. Ids are in descending order of biased score, equal ones in the order of the experts
    (AITER leaves the latter open). One case has its own order, that of the kernel for 256 experts in 8 groups of which
    4 stay, with k = 8 (DeepSeek-V3 on gfx9): the groups whose score is above the fourth come first, by number, then
    the fourth; within that, the experts whose score is above the eighth come first, by place, then the eighth. NaN
    counts as the lowest score. Every release from v0.1.5 to v0.1.20.post1 has this signature.

    Beyond 212 tokens per compute unit, with at most 32 experts in a group, AITER takes another kernel
    (csrc/kernels/moe_fused_gate.cu), which sorts in every case, refuses need_renorm=False and does not multiply by
    `routed_scaling_factor`. Here the factor always counts.

    Args:
        gating_output: [M, E] fp32, bf16 or fp16, rows of any stride.
        correction_bias: [E], of the dtype of `gating_output`: AITER reads its bytes as that dtype.
        topk_weights: fp32 [M, k], any row stride: written.
        topk_ids: int32 [M, k], same row stride: written. Its width is k.
        num_expert_group: G: 1, 2, 4 or 8, a divisor of E.
        topk_group: groups to keep, 1 to G.
        need_renorm: divide the k weights by their sum.
        routed_scaling_factor: every weight is multiplied by it.
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a rank, shape, dtype or number of groups does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    gating, k = _checked(gating_output, topk_weights, topk_ids, num_expert_group, topk_group)
    _check_bias(correction_bias, gating)
    arguments = {
        "gating_output": gating,
        "correction_bias": correction_bias,
        "topk_weights": topk_weights,
        "topk_ids": topk_ids,
        "num_expert_group": num_expert_group,
        "topk_group": topk_group,
        "need_renorm": need_renorm,
        "routed_scaling_factor": routed_scaling_factor,
    }
    call = native("biased_grouped_topk", arguments, gating.device, backend, defaults={"routed_scaling_factor": 1.0})
    if call is not None:
        call()
        return
    scores = gating.float().sigmoid()
    biased = scores + correction_bias.float()
    by_group = _by_group(biased, num_expert_group)
    group_scores = by_group.topk(min(2, by_group.shape[-1]), dim=-1).values.sum(-1)
    if (gating.shape[1], num_expert_group, topk_group, k) == _COUNTING_KERNEL:
        chosen = _in_order_of_groups(by_group, best_by_column(group_scores, topk_group), k)
    else:
        chosen = best(within_groups(biased, num_expert_group, best(group_scores, topk_group)), k)
    _write(topk_weights, topk_ids, scores, chosen, need_renorm, routed_scaling_factor)


def _checked(
    gating_output: Any, topk_weights: Any, topk_ids: Any, num_expert_group: Any, topk_group: Any
) -> tuple[Tensor, int]:
    gating = need_gating(gating_output)
    tokens, experts = gating.shape
    need_choice("num_expert_group", num_expert_group, _GROUP_COUNTS, "AITER has kernels for these.")
    if experts % num_expert_group:
        raise InvalidArgument("num_expert_group", num_expert_group, f"a divisor of the {experts} experts")
    need_choice("topk_group", topk_group, tuple(range(1, num_expert_group + 1)))
    k = need_tensor("topk_ids", topk_ids, 2, "[tokens, k]").shape[1]
    most = experts // num_expert_group * topk_group
    if not 1 <= k <= most:
        raise InvalidArgument("topk_ids", f"{k} columns", f"1 to {most}, the experts of {topk_group} groups")
    need_output("topk_ids", topk_ids, _IDS, tokens, k)
    need_output("topk_weights", topk_weights, (torch.float32,), tokens, k)
    return gating, k


def _check_bias(bias: Any, gating: Tensor) -> None:
    found = need_tensor("correction_bias", bias, 1, f"[{gating.shape[1]}]")
    if found.dtype != gating.dtype or found.shape[0] != gating.shape[1]:
        raise InvalidArgument(
            "correction_bias",
            f"{found.dtype} of shape {list(found.shape)}",
            f"{gating.dtype} [{gating.shape[1]}], the dtype of gating_output",
            "Convert gating_output where the bias is the more precise one, else the bias.",
        )


def _by_group(scores: Tensor, groups: int) -> Tensor:
    by_group = scores.view(scores.shape[0], groups, scores.shape[1] // groups)
    return torch.where(by_group.isnan(), float("-inf"), by_group)


def _in_order_of_groups(by_group: Tensor, chosen: Tensor, k: int) -> Tensor:
    """Ids of the k best experts of the chosen groups, in the order of the kernel that counts."""
    size = by_group.shape[-1]
    candidates = by_group.gather(1, chosen.unsqueeze(-1).expand(-1, -1, size)).flatten(1)
    place = best_by_column(candidates, k)
    return chosen.gather(1, place // size) * size + place % size


def _write(
    topk_weights: Tensor, topk_ids: Tensor, scores: Tensor, chosen: Tensor, need_renorm: bool, factor: float
) -> None:
    weights = scores.gather(1, chosen)
    weights = weights * (factor / weights.sum(-1, keepdim=True)) if need_renorm else weights * factor
    k = chosen.shape[1]
    topk_weights[:, :k].copy_(weights)
    topk_ids[:, :k].copy_(chosen)
