"""From the router's global choice to the slots that this rank computes.

A slot is one (token, choice) pair. Its local expert is -1 when the expert lives elsewhere; such a slot
contributes exactly 0 (`torch_moe` in aiter/fused_moe.py, v0.1.15.post3, numbers local experts by the running
sum of the mask).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of one call.

    Attributes:
        experts: [M, k] int64 local expert, -1 for none. A shared expert is number E, after the routed ones.
        weights: [M, k] fp32 routing weights, same shape.
    """

    experts: torch.Tensor
    weights: torch.Tensor


@dataclass(frozen=True, eq=False)
class SortedSlots:
    """Slots with an expert, in the order of their expert; within an expert in the order of their token.

    Attributes:
        order: [S] flat slot numbers (token * k + choice).
        experts: expert numbers that occur, ascending.
        bounds: len(experts) + 1 offsets into `order`, where each expert's part starts and the last one ends.
    """

    order: torch.Tensor
    experts: list[int]
    bounds: list[int]

    def spans(self) -> Iterator[tuple[int, slice]]:
        """Each expert that occurs with its part of `order`."""
        for expert, start, stop in zip(self.experts, self.bounds, self.bounds[1:], strict=False):
            yield expert, slice(start, stop)


def local_experts(topk_ids: torch.Tensor, expert_mask: torch.Tensor | None, experts: int) -> torch.Tensor:
    """Number the experts of this rank and forget the others.

    Args:
        topk_ids: [M, k] global ids of any integer dtype.
        expert_mask: [E_global], non-zero for the experts of this rank; None when global and local ids are the
            same.
        experts: E, how many experts the weights hold.

    Returns:
        [M, k] int64 ids in [0, E), -1 for an expert of another rank and for an id that names no expert at
        all.

    Raises:
        InvalidArgument: the mask is not one-dimensional or marks more experts than the weights hold.
    """
    ids = topk_ids.long()
    if expert_mask is None:
        return torch.where((ids >= 0) & (ids < experts), ids, -1)
    local = local_numbers(expert_mask, experts)
    known = (ids >= 0) & (ids < local.numel())
    return torch.where(known, local[ids.clamp(0, local.numel() - 1)], -1)


def local_numbers(expert_mask: torch.Tensor, experts: int) -> torch.Tensor:
    """The local number of every global expert.

    Args:
        expert_mask: [E_global], non-zero for the experts of this rank.
        experts: E, how many experts the weights hold.

    Returns:
        [E_global] int64, -1 for an expert of another rank.

    Raises:
        InvalidArgument: the mask is not one-dimensional or marks more experts than the weights hold.
    """
    if expert_mask.ndim != 1:
        raise InvalidArgument("expert_mask", f"shape {tuple(expert_mask.shape)}", "shape [E_global], 0 or 1 each")
    here = expert_mask != 0
    if int(here.sum()) > experts:
        raise InvalidArgument(
            "expert_mask",
            f"{int(here.sum())} experts of this rank",
            f"at most the {experts} that w1 holds",
            "Pass AITER's 0/1 mask; a map from global to local ids (-1 elsewhere) is the argument expert_map.",
        )
    return torch.where(here, here.cumsum(0) - 1, -1)


def route(request: EmulationRequest, tokens: int) -> Slots:
    """Find out which slots of the first `tokens` tokens this rank computes, the shared expert included.

    Args:
        request: the call.
        tokens: how many rows count (`computed_tokens`).

    Returns:
        The slots; with a shared expert for every token there is one more choice a token than the router made.
    """
    experts = request.w1.shape[0]
    ids = request.topk_ids[:tokens]
    chosen = local_experts(ids, request.expert_mask, experts)
    weights = request.topk_weight[:tokens].float()
    if request.shared_w1 is not None and request.shared_expert_id >= 0:
        chosen = torch.where(ids == request.shared_expert_id, experts, chosen)
    if request.zero_weight_rule:
        chosen = torch.where(weights == 0, -1, chosen)
    if request.shared_w1 is not None and request.shared_expert_id < 0:
        chosen = torch.cat([chosen, chosen.new_full((tokens, 1), experts)], dim=1)
        weights = torch.cat([weights, weights.new_ones((tokens, 1))], dim=1)
    return Slots(chosen, weights)


def computed_tokens(request: EmulationRequest) -> int:
    """How many rows of hidden_states count: all, or the first `num_local_tokens`.

    Raises:
        InvalidArgument: num_local_tokens is negative or more than there are rows.
    """
    rows = request.hidden_states.shape[0]
    if request.num_local_tokens is None:
        return rows
    counted = int(request.num_local_tokens)
    if not 0 <= counted <= rows:
        raise InvalidArgument("num_local_tokens", counted, f"0 to {rows}, the rows of hidden_states")
    return counted


def sort_slots(slots: Slots) -> SortedSlots:
    """Group the slots by expert, leaving out those without one."""
    flat = slots.experts.reshape(-1)
    by_expert, order = torch.sort(flat, stable=True)
    outside = int((flat < 0).sum())
    experts, counts = torch.unique_consecutive(by_expert[outside:], return_counts=True)
    bounds = [0]
    for count in counts.tolist():
        bounds.append(bounds[-1] + count)
    return SortedSlots(order[outside:], experts.tolist(), bounds)
