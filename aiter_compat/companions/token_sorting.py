"""`moe_sorting`: the slots of all tokens, grouped by expert and padded to whole tiles."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aiter_compat.companions.serving import native
from aiter_compat.errors import InvalidArgument
from aiter_compat.moe.checks import FLOATING, need_dtype, need_shape, need_tensor

BLOCK_SIZE_M = 32
"""AITER's default tile (aiter/fused_moe.py, every release)."""
SLOT_SHIFT = 24
"""A sorted id holds the token in its low 24 bits and the slot (0 to k - 1) above them."""
NO_EXPERT = -1
_INTEGERS = (torch.int32, torch.int64)
_MASKS = (torch.int32, torch.int64, torch.uint8, torch.int8, torch.bool)
_DEFAULTS: dict[str, Any] = {
    "block_size": BLOCK_SIZE_M,
    "expert_mask": None,
    "num_local_tokens": None,
    "dispatch_policy": 0,
    "return_local_topk_ids": False,
    "accumulate": True,
    "flat": False,
}


def moe_sorting(
    topk_ids: Tensor,
    topk_weights: Tensor,
    num_experts: int,
    model_dim: int,
    moebuf_dtype: torch.dtype,
    block_size: int = BLOCK_SIZE_M,
    expert_mask: Tensor | None = None,
    num_local_tokens: Tensor | None = None,
    dispatch_policy: int = 0,
    return_local_topk_ids: bool = False,
    accumulate: bool = True,
    flat: bool = False,
    *,
    backend: str = "auto",
) -> tuple[Tensor, ...]:
    """AITER's `aiter.fused_moe.moe_sorting`: what its MoE kernels read instead of `topk_ids`.

    With M tokens, k slots each, E experts and tiles of B rows, C = M*k + E*B - k rows are there, more than are used.
    Experts come in their order, the tokens of one expert in theirs; each expert is filled up to whole tiles, one
    without tokens has none. Where AITER leaves memory as it was, this writes the padding id, weight 0 and expert -1.

    Sources: v0.1.20.post1 aiter/fused_moe.py `_moe_sorting_impl`, csrc/include/moe_sorting_opus.h; the reference
    run_torch_moe_sorting in op_tests/test_moe_sorting.py. `return_local_topk_ids` exists from v0.1.15 on, `accumulate`
    and `flat` from v0.1.16 on. `output_aux` (v0.1.18 on) is not here: only AITER's own fused_moe asks for it, and its
    sizes are a kernel's own. AITER tests its CK, Opus and FlyDSL kernels against that one reference.

    Args:
        topk_ids: int32 or int64 [M, k], distinct in each row, k <= E. An id outside 0 to E - 1 names no expert here;
            AITER must not be given one.
        topk_weights: [M, k], converted to fp32.
        num_experts: E, of all ranks where `expert_mask` is given.
        model_dim: H, width of the output buffer.
        moebuf_dtype: its dtype.
        block_size: B.
        expert_mask: [E] integers, 1 for an expert of this rank; others get no rows. Local ids count the ones.
        num_local_tokens: one int32 or int64: rows of `topk_ids` that count. Never read on the host.
        dispatch_policy: hint for AITER; never changes a result.
        return_local_topk_ids: append int32 [M, k], the local id of each slot, -1 where the expert is another rank's
            (here also for rows that do not count).
        accumulate: False makes the buffer empty, [0, 0], where there is no `expert_mask`.
        flat: no sorting: ids and weights themselves, as int32 and fp32, for kernels that route on their own.
        backend: auto, aiter or emulation.

    Returns:
        sorted_ids int32 [C], slot << 24 | token; of padding, k << 24 | tokens that count (M, without
        `num_local_tokens`);
        sorted_weights fp32 [C], 0 on padding;
        sorted_expert_ids int32 [ceil(C / B)], the local expert of each tile;
        num_valid_ids int32 [2]: rows in use, a multiple of B, and tokens that count;
        moe_buf [M, H] zeros, which kernels add into.

    Raises:
        InvalidArgument: a rank, shape, dtype or size does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    ids = need_tensor("topk_ids", topk_ids, 2, "[tokens, k]")
    need_dtype("topk_ids", ids, _INTEGERS)
    weights = need_tensor("topk_weights", topk_weights, 2, "[tokens, k]")
    need_dtype("topk_weights", weights, FLOATING)
    need_shape("topk_weights", weights, tuple(ids.shape), meaning="that of topk_ids")
    _check_sizes(ids, num_experts, model_dim, block_size)
    _check_expert_mask(expert_mask, num_experts)
    _check_local_tokens(num_local_tokens)
    arguments = {
        "topk_ids": ids.to(torch.int32),
        "topk_weights": weights.to(torch.float32),
        "num_experts": num_experts,
        "model_dim": model_dim,
        "moebuf_dtype": moebuf_dtype,
        "block_size": block_size,
        "expert_mask": None if expert_mask is None else expert_mask.to(torch.int32),
        "num_local_tokens": None if num_local_tokens is None else num_local_tokens.to(torch.int32),
        "dispatch_policy": dispatch_policy,
        "return_local_topk_ids": return_local_topk_ids,
        "accumulate": accumulate,
        "flat": flat,
    }
    call = native("moe_sorting", arguments, ids.device, backend, defaults=_DEFAULTS)
    if call is not None:
        return tuple(call())
    whole = accumulate or expert_mask is not None or flat
    moe_buf = torch.zeros((ids.shape[0], model_dim) if whole else (0, 0), dtype=moebuf_dtype, device=ids.device)
    if flat:
        flat_ids = ids.to(torch.int32).contiguous()
        return flat_ids, weights.float().contiguous(), flat_ids, flat_ids, moe_buf
    *sorted_buffers, local_ids = _sorted(ids, weights, num_experts, block_size, expert_mask, num_local_tokens)
    return (*sorted_buffers, moe_buf, local_ids) if return_local_topk_ids else (*sorted_buffers, moe_buf)


def _sorted(
    ids: Tensor,
    weights: Tensor,
    experts: int,
    block: int,
    expert_mask: Tensor | None,
    num_local_tokens: Tensor | None,
) -> tuple[Tensor, ...]:
    """The first four results of `moe_sorting`, and the local ids; shapes follow from sizes, nothing is synchronised."""
    device, (tokens, k) = ids.device, ids.shape
    counted = torch.full((1,), tokens, device=device) if num_local_tokens is None else num_local_tokens.view(1).long()
    mask = torch.ones(experts, dtype=torch.bool, device=device) if expert_mask is None else expert_mask != 0
    local = torch.where(mask, mask.cumsum(0) - 1, NO_EXPERT)

    named = (ids >= 0) & (ids < experts)
    safe = torch.where(named, ids, 0).long()
    token = torch.arange(tokens, device=device).unsqueeze(1).expand(tokens, k)
    here = named & mask[safe] & (token < counted)
    local_ids = torch.where(here, local[safe], NO_EXPERT).to(torch.int32)

    expert = torch.where(here, safe, experts).reshape(-1)  # slots of no expert come last
    order = torch.sort(expert, stable=True).indices
    expert_of_row = expert[order]
    count = torch.zeros(experts + 1, dtype=torch.int64, device=device).scatter_add_(0, expert, torch.ones_like(expert))
    padded = (count[:experts] + block - 1) // block * block
    end = padded.cumsum(0)
    first_row = end - padded
    first_slot = count.cumsum(0) - count
    rank = torch.arange(tokens * k, device=device) - first_slot[expert_of_row]

    capacity = tokens * k + experts * block - k
    # One row more, for slots of no expert; it is cut off again.
    first_row = torch.cat((first_row, first_row.new_full((1,), capacity)))
    row = torch.where(expert_of_row < experts, first_row[expert_of_row] + rank, capacity)
    slot = torch.arange(k, device=device).expand(tokens, k)
    sorted_ids = ((k << SLOT_SHIFT) | counted).expand(capacity + 1).clone()
    sorted_ids[row] = ((slot << SLOT_SHIFT) | token).reshape(-1)[order]
    sorted_weights = torch.zeros(capacity + 1, dtype=torch.float32, device=device)
    sorted_weights[row] = weights.float().reshape(-1)[order]

    tile = torch.arange((capacity + block - 1) // block, device=device) * block
    owner = torch.searchsorted(end, tile, right=True)
    sorted_expert_ids = torch.where(tile < end[-1], local[owner.clamp(max=experts - 1)], NO_EXPERT)
    num_valid_ids = torch.cat((end[-1:], counted))
    return (
        sorted_ids[:capacity].to(torch.int32),
        sorted_weights[:capacity],
        sorted_expert_ids.to(torch.int32),
        num_valid_ids.to(torch.int32),
        local_ids,
    )


def _check_sizes(ids: Tensor, num_experts: Any, model_dim: Any, block_size: Any) -> None:
    for argument, value, least in (
        ("num_experts", num_experts, 1),
        ("model_dim", model_dim, 0),
        ("block_size", block_size, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidArgument(argument, value, f"a whole number, {least} or more")
    tokens, k = ids.shape
    if not 1 <= k <= min(num_experts, 127):
        raise InvalidArgument("topk_ids", f"{k} columns", f"1 to {min(num_experts, 127)}, experts of one token")
    if tokens >= 1 << SLOT_SHIFT:
        raise InvalidArgument("topk_ids", f"{tokens} rows", f"fewer than {1 << SLOT_SHIFT}, what 24 bits can count")


def _check_expert_mask(mask: Any, num_experts: int) -> None:
    if mask is None:
        return
    found = need_tensor("expert_mask", mask, 1, f"[{num_experts}], 1 for a local expert")
    need_dtype("expert_mask", found, _MASKS)
    need_shape("expert_mask", found, (num_experts,), meaning="one for each expert of all ranks")


def _check_local_tokens(counted: Any) -> None:
    if counted is None:
        return
    if not isinstance(counted, Tensor) or counted.numel() != 1 or counted.dtype not in _INTEGERS:
        given = f"{counted.dtype} of shape {list(counted.shape)}" if isinstance(counted, Tensor) else counted
        raise InvalidArgument("num_local_tokens", given, "a tensor of one int32 or int64")
