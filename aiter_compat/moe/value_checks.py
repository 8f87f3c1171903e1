"""Checks that read values: `AITER_COMPAT_CHECKS=debug`, and for masks wherever reading costs no synchronisation."""

from __future__ import annotations

import torch

from aiter_compat.backends.moe_call import MoECall
from aiter_compat.errors import InvalidArgument
from aiter_compat.moe.pad_values import check_pad_values


def check_values(call: MoECall) -> None:
    """Check ids, weights, mask and weight pads by value; synchronises a GPU.

    Raises:
        InvalidArgument: the first argument that does not fit.
    """
    routed = call.expert_map if call.expert_map is not None else call.expert_mask
    bound = routed.numel() if routed is not None else call.experts
    ids = call.topk_ids
    if ids.numel():
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= bound:
            raise InvalidArgument(
                "topk_ids", f"ids from {low} to {high}", f"0 to {bound - 1}, the experts of all ranks"
            )
    if bool(torch.isnan(call.topk_weight).any()):
        raise InvalidArgument("topk_weight", "NaN among the weights", "numbers")
    check_mask_values(call.expert_mask, call.experts)
    check_pad_values(call)


def check_mask_values(mask: torch.Tensor | None, experts: int) -> None:
    """Refuse a mask that is no mask: a map with -1 in it, or one that does not name as many experts as w1 holds.

    Raises:
        InvalidArgument: the mask does not fit.
    """
    if mask is None:
        return
    remedy = "A map from global to local ids (-1 elsewhere) goes to ac.fused_experts(expert_map=)."
    values = mask.to(torch.int64)
    if bool(((values != 0) & (values != 1)).any()):
        raise InvalidArgument("expert_mask", f"values {sorted(set(values.tolist()))[:6]}", "0 and 1", remedy)
    local = int(values.sum())
    if local != experts:
        raise InvalidArgument("expert_mask", f"{local} local experts", f"{experts}, the experts of w1", remedy)
