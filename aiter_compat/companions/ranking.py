"""Choosing the k best experts of each token, and the order in which they are written."""

from __future__ import annotations

import torch
from torch import Tensor

LOWEST = float("-inf")


def best(scores: Tensor, count: int) -> Tensor:
    """Columns of the `count` largest scores of each row, the largest first.

    Equal scores come in the order of their columns; NaN counts as the lowest. Nothing is synchronised.

    Args:
        scores: fp32 [M, n].
        count: 1 to n.

    Returns:
        int64 [M, count], distinct in each row.
    """
    return torch.sort(_comparable(scores), dim=-1, descending=True, stable=True).indices[:, :count]


def best_by_column(scores: Tensor, count: int) -> Tensor:
    """The same number of columns, in the order of a kernel that counts instead of sorting.

    First the columns whose score is above the `count`-th largest, from left to right, then those that equal it, from
    left to right, as many as are wanted (v0.1.20.post1 csrc/kernels/topk_softmax_kernels_group.cu,
    cumsum_topk_with_pivot).

    Args:
        scores: fp32 [M, n].
        count: 1 to n.

    Returns:
        int64 [M, count], distinct in each row.
    """
    comparable = _comparable(scores)
    pivot = comparable.topk(count, dim=-1).values[:, -1:]
    rank = torch.where(comparable > pivot, 0, torch.where(comparable == pivot, 1, 2))
    return torch.sort(rank, dim=-1, stable=True).indices[:, :count]


def within_groups(scores: Tensor, groups: int, chosen: Tensor) -> Tensor:
    """The scores, those outside the chosen groups of columns lowered to -Inf.

    Args:
        scores: fp32 [M, E].
        groups: G, a divisor of E.
        chosen: int64 [M, g], groups that stay.

    Returns:
        fp32 [M, E].
    """
    kept = torch.zeros(scores.shape[0], groups, dtype=torch.bool, device=scores.device).scatter_(1, chosen, True)
    by_group = scores.view(scores.shape[0], groups, scores.shape[1] // groups)
    return by_group.masked_fill(~kept.unsqueeze(-1), LOWEST).view(scores.shape)


def _comparable(scores: Tensor) -> Tensor:
    return torch.where(scores.isnan(), LOWEST, scores)
