"""Top-k routing without expert groups: `fused_topk`, `topk_softmax`, `topk_sigmoid`, `topk_gating`.

All compute in fp32 whatever the dtype of the logits. AITER's kernels use the hardware's exp2, log2 and reciprocal, so
weights agree to a few units in the last place and two experts whose scores are that close may change places.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from aiter_compat.companions.ranking import LOWEST, best
from aiter_compat.companions.serving import native
from aiter_compat.companions.tensor_checks import need_choice, need_gating, need_output
from aiter_compat.errors import InvalidArgument
from aiter_compat.moe.checks import FLOATING, need_tensor

SCORE_FUNCTIONS = ("sqrtsoftplus", "sigmoid", "softmax")
_IDS = (torch.int32, torch.uint32)
_NO_SHARED: dict[str, Any] = {"num_shared_experts": 0, "shared_expert_scoring_func": ""}
_GATING_DEFAULTS: dict[str, Any] = {
    "correction_bias": None,
    "need_renorm": True,
    "routed_scaling_factor": 1.0,
    "score_func": "sqrtsoftplus",
    "num_shared_experts": 0,
}
_SMALLEST_SUM = 1e-20
"""Sums of weights below it are taken as it (v0.1.14 to v0.1.20.post1, topk_gating kernels)."""


def fused_topk(
    hidden_states: Tensor,
    gating_output: Tensor,
    topk: int,
    renormalize: bool,
    topk_ids: Tensor | None = None,
    topk_weights: Tensor | None = None,
    *,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.fused_moe.fused_topk`: softmax over the experts, then the k largest.

    The order is descending, equal logits in the order of the experts (v0.1.20.post1
    csrc/kernels/topk_softmax_kernels.cu; for the sizes that AITER sends to its assembly kernel, such as 128 experts and
    k = 8, the order of equal logits is not documented). A row with NaN or +Inf has NaN weights; its ids are distinct
    and in range here and unspecified in AITER. Every release from v0.1.5 to v0.1.20.post1 has this signature.

    Args:
        hidden_states: [M, H]; only M and the device count.
        gating_output: [M, E] fp32, bf16 or fp16, rows of any stride.
        topk: k, at most E.
        renormalize: divide the k weights by their sum.
        topk_ids: int32 [M or more, k] to write into; None makes it.
        topk_weights: fp32 [M or more, k] to write into; None makes it.
        backend: auto, aiter or emulation.

    Returns:
        weights fp32 [M, k] and ids int32 [M, k], the given tensors (their first M rows) where given.

    Raises:
        InvalidArgument: a rank, shape or dtype does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    gating = need_gating(gating_output)
    tokens = need_tensor("hidden_states", hidden_states, 2, "[tokens, hidden]").shape[0]
    if tokens != gating.shape[0]:
        raise InvalidArgument("hidden_states", f"{tokens} rows", f"{gating.shape[0]}, a row for each of gating_output")
    k = _count("topk", topk, gating.shape[1])
    arguments = {
        "hidden_states": hidden_states,
        "gating_output": gating,
        "topk": k,
        "renormalize": renormalize,
        "topk_ids": topk_ids,
        "topk_weights": topk_weights,
    }
    defaults = {"topk_ids": None, "topk_weights": None}
    call = native("fused_topk", arguments, gating.device, backend, defaults=defaults)
    if call is not None:
        weights, ids = call()
        return weights, ids
    weights = _rows("topk_weights", topk_weights, (torch.float32,), tokens, k, gating.device)
    ids = _rows("topk_ids", topk_ids, _IDS, tokens, k, gating.device)
    _softmax_into(weights, ids, gating, renormalize)
    return weights, ids


def topk_softmax(
    topk_weights: Tensor,
    topk_indices: Tensor,
    token_expert_indices: Tensor,
    gating_output: Tensor,
    need_renorm: bool,
    num_shared_experts: int = 0,
    shared_expert_scoring_func: str = "",
    *,
    backend: str = "auto",
) -> None:
    """AITER's `aiter.topk_softmax`: `fused_topk` into given tensors, and the scores of fused shared experts.

    Order and ties as in `fused_topk`. The two arguments about shared experts exist from v0.1.12 on; there AITER takes
    1, 2, 4 or 8 of them where the number of routed experts is a power of two up to 512.

    Args:
        topk_weights: fp32 [M, k + S], any row stride: written.
        topk_indices: int32 [M, k], any row stride: written. Its width is k.
        token_expert_indices: int32 [M, k], written with slot * M + token, in compact rows.
        gating_output: [M, E + S] fp32, bf16 or fp16; the last S columns are shared experts.
        need_renorm: divide the k weights by their sum.
        num_shared_experts: S.
        shared_expert_scoring_func: "sigmoid", what the columns of `topk_weights` from k on get; "" with S = 0.
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a rank, shape, dtype or scoring function does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    gating = need_gating(gating_output)
    shared = num_shared_experts
    _check_shared(shared, shared_expert_scoring_func, gating)
    tokens, k = gating.shape[0], _width("topk_indices", topk_indices, gating.shape[1] - shared)
    need_output("topk_indices", topk_indices, _IDS, tokens, k)
    need_output("topk_weights", topk_weights, (torch.float32,), tokens, k + shared)
    need_output("token_expert_indices", token_expert_indices, _IDS, tokens, k)
    arguments = {
        "topk_weights": topk_weights,
        "topk_indices": topk_indices,
        "token_expert_indices": token_expert_indices,
        "gating_output": gating,
        "need_renorm": need_renorm,
        "num_shared_experts": shared,
        "shared_expert_scoring_func": shared_expert_scoring_func,
    }
    call = native("topk_softmax", arguments, gating.device, backend, defaults=_NO_SHARED)
    if call is not None:
        call()
        return
    routed = gating[:, : gating.shape[1] - shared]
    _softmax_into(topk_weights[:, :k], topk_indices, routed, need_renorm)
    slots = torch.arange(k, device=gating.device) * tokens
    token_expert_indices[:, :k].copy_(slots + torch.arange(tokens, device=gating.device).unsqueeze(1))
    if shared:
        topk_weights[:, k : k + shared].copy_(gating[:, -shared:].float().sigmoid())


def topk_sigmoid(topk_weights: Tensor, topk_indices: Tensor, gating_output: Tensor, *, backend: str = "auto") -> None:
    """AITER's `aiter.topk_sigmoid`: the k largest logits of each token, weighted by their sigmoid (Llama 4).

    Descending by logit, as AITER's own reference chooses (op_tests/test_moe_topk_gating.py, ref_sigmoid); equal logits
    in the order of the experts, which AITER leaves open. NaN counts as the lowest logit. AITER assumes that all three
    tensors are contiguous; a tensor that is not goes to the emulation.

    Args:
        topk_weights: fp32, bf16 or fp16 [M, k]: written, never renormalised.
        topk_indices: int32 [M, k]: written.
        gating_output: [M, E] fp32, bf16 or fp16.
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a rank, shape or dtype does not fit; or a strided tensor with backend="aiter".
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    gating = need_gating(gating_output)
    tokens, k = gating.shape[0], _width("topk_weights", topk_weights, gating.shape[1])
    need_output("topk_weights", topk_weights, FLOATING, tokens, k)
    need_output("topk_indices", topk_indices, _IDS, tokens, k)
    arguments = {"topk_weights": topk_weights, "topk_indices": topk_indices, "gating_output": gating}
    strided = [name for name, tensor in arguments.items() if not tensor.is_contiguous()]
    if strided and backend == "aiter":
        raise InvalidArgument(strided[0], "a strided tensor", "a contiguous one, the strides that AITER assumes")
    call = native("topk_sigmoid", arguments, gating.device, "emulation" if strided else backend)
    if call is not None:
        call()
        return
    logits = gating.float()
    chosen = best(logits, k)
    topk_weights.copy_(logits.gather(1, chosen).sigmoid())
    topk_indices[:, :k].copy_(chosen)


def topk_gating(
    topk_weights: Tensor,
    topk_indices: Tensor,
    gating_output: Tensor,
    correction_bias: Tensor | None = None,
    need_renorm: bool = True,
    routed_scaling_factor: float = 1.0,
    score_func: str = "sqrtsoftplus",
    num_shared_experts: int = 0,
    *,
    backend: str = "auto",
) -> None:
    """AITER's `aiter.topk_gating`: score, add a bias for the choice, take the k best, weigh them by their plain scores.

    Descending by score + bias, equal ones in the order of the experts (AITER's order of equal ones depends on the
    kernel). A NaN logit is chosen last whatever its bias, and its weight is NaN (0 under softmax); +Inf wins, with a
    finite weight; v0.1.14 to v0.1.18 let both spoil the row (csrc/kernels/topk_gating_kernels.cu). AITER has this from
    v0.1.14 on, up to k = 64; before v0.1.20 `topk_softplus` was its raw binding.

    Args:
        topk_weights: fp32 [M, k + S], any row stride: written.
        topk_indices: int32 [M, k], same row stride: written. Its width is k.
        gating_output: [M, E + S] fp32, bf16 or fp16.
        correction_bias: [E] fp32, or bf16 where the logits are not fp16; None for none.
        need_renorm: divide the k weights by their sum.
        routed_scaling_factor: every weight is multiplied by it.
        score_func: "sqrtsoftplus" (DeepSeek-V4), "sigmoid" or "softmax".
        num_shared_experts: S: the last S columns of the logits go through a sigmoid into the last S weights. After
            v0.1.20.post1; known from vLLM 0.33.0 (vllm/_aiter_ops.py, _rocm_aiter_topk_gating_impl).
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a rank, shape, dtype or score function does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    gating = need_gating(gating_output)
    shared = num_shared_experts
    _check_shared(shared, "sigmoid" if shared else "", gating)
    need_choice("score_func", score_func, SCORE_FUNCTIONS)
    experts = gating.shape[1] - shared
    tokens, k = gating.shape[0], _width("topk_indices", topk_indices, experts)
    need_output("topk_indices", topk_indices, _IDS, tokens, k)
    need_output("topk_weights", topk_weights, (torch.float32,), tokens, k + shared)
    if correction_bias is not None:
        _check_bias(correction_bias, gating, experts)
    arguments = {
        "topk_weights": topk_weights,
        "topk_indices": topk_indices,
        "gating_output": gating,
        "correction_bias": correction_bias,
        "need_renorm": need_renorm,
        "routed_scaling_factor": routed_scaling_factor,
        "score_func": score_func,
        "num_shared_experts": shared,
    }
    call = native("topk_gating", arguments, gating.device, backend, defaults=_GATING_DEFAULTS)
    if call is not None:
        call()
        return
    logits = gating[:, :experts].float()
    scores = _scores(logits, score_func)
    ranked = scores if correction_bias is None else scores + correction_bias.float()
    chosen = best(torch.where(logits.isnan(), LOWEST, ranked), k)
    weights = scores.gather(1, chosen)
    if need_renorm:
        weights = weights * (routed_scaling_factor / weights.sum(-1, keepdim=True).clamp(min=_SMALLEST_SUM))
    else:
        weights = weights * routed_scaling_factor
    topk_weights[:, :k].copy_(weights)
    topk_indices[:, :k].copy_(chosen)
    if shared:
        topk_weights[:, k : k + shared].copy_(gating[:, experts:].float().sigmoid())


topk_softplus = topk_gating
"""AITER's older name of `topk_gating` (v0.1.14 on; an alias since v0.1.20)."""


def _softmax_into(weights: Tensor, ids: Tensor, gating: Tensor, renormalize: bool) -> None:
    logits = gating.float()
    chosen = best(logits, weights.shape[1])
    probabilities = logits.softmax(-1).gather(1, chosen)
    if renormalize:
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    weights.copy_(probabilities)
    ids[:, : chosen.shape[1]].copy_(chosen)


def _scores(logits: Tensor, score_func: str) -> Tensor:
    if score_func == "sigmoid":
        return logits.sigmoid()
    if score_func == "sqrtsoftplus":
        return functional.softplus(logits.clamp(max=torch.finfo(torch.float32).max)).sqrt()
    known = torch.where(logits.isnan(), LOWEST, logits)
    distance = known - known.amax(-1, keepdim=True)
    exponentials = torch.where(distance.isnan(), 1.0, distance.exp())  # Inf - Inf: the largest logit itself
    return exponentials / exponentials.sum(-1, keepdim=True).clamp(min=_SMALLEST_SUM)


def _rows(
    argument: str,
    given: Tensor | None,
    dtypes: tuple[torch.dtype, ...],
    rows: int,
    columns: int,
    device: torch.device,
) -> Tensor:
    """The first `rows` rows of a given tensor, or a new one."""
    if given is None:
        return torch.empty(rows, columns, dtype=dtypes[0], device=device)
    found = need_tensor(argument, given, 2, f"[{rows}, {columns}]")
    found = found[:rows] if found.shape[0] > rows else found
    need_output(argument, found, dtypes, rows, columns)
    if found.shape[1] != columns:
        raise InvalidArgument(argument, str(list(given.shape)), f"[{rows}, {columns}]")
    return found


def _count(argument: str, count: Any, experts: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= experts:
        raise InvalidArgument(argument, count, f"1 to {experts}, the number of experts")
    return count


def _width(argument: str, tensor: Any, experts: int) -> int:
    """k, the width of a tensor to write into."""
    width = need_tensor(argument, tensor, 2, "[tokens, k]").shape[1]
    if not 1 <= width <= experts:
        raise InvalidArgument(argument, f"{width} columns", f"1 to {experts}, the number of routed experts")
    return width


def _check_shared(shared: Any, scoring: str, gating: Tensor) -> None:
    if isinstance(shared, bool) or not isinstance(shared, int) or not 0 <= shared < gating.shape[1]:
        raise InvalidArgument("num_shared_experts", shared, f"0 to {gating.shape[1] - 1}, columns of gating_output")
    need_choice("shared_expert_scoring_func", scoring, ("sigmoid",) if shared else ("", "sigmoid"))


def _check_bias(bias: Any, gating: Tensor, experts: int) -> None:
    found = need_tensor("correction_bias", bias, 1, f"[{experts}]")
    allowed = (torch.float32,) if gating.dtype == torch.float16 else (torch.float32, torch.bfloat16)
    if found.dtype not in allowed or found.shape[0] != experts:
        raise InvalidArgument(
            "correction_bias",
            f"{found.dtype} of shape {list(found.shape)}",
            f"{' or '.join(map(str, allowed))} [{experts}] for logits of {gating.dtype}",
        )
