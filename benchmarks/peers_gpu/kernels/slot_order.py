"""Slots in the order of their expert, cut into blocks of rows that one tile of a grouped GEMM takes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

_LARGEST_SINGLE_SORT = 256
_BLOCKS_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class SlotOrder:
    """The plan of a grouped GEMM.

    Attributes:
        order: [S] int32 flat slot numbers (token * k + choice), by expert.
        bounds: [E + 1] int32, where each expert's part of `order` starts.
        block_expert: [B] int32, the expert of a block of rows, -1 for a block without work.
        block_start: [B] int32, its first place in `order`.
        rows: rows of a block.
    """

    order: torch.Tensor
    bounds: torch.Tensor
    block_expert: torch.Tensor
    block_start: torch.Tensor
    rows: int


@triton.jit
def _sort(ids, order, bounds, slots, experts, SLOTS: tl.constexpr, EXPERTS: tl.constexpr):
    slot = tl.arange(0, SLOTS)
    expert = tl.load(ids + slot, mask=slot < slots, other=EXPERTS - 1).to(tl.int32)
    tl.store(order + slot, tl.sort((expert << 16) | slot) & 0xFFFF, mask=slot < slots)
    number = tl.arange(0, EXPERTS)
    ends = tl.cumsum(tl.histogram(expert, EXPERTS), 0)
    tl.store(bounds + 1 + number, ends, mask=number < experts)
    tl.store(bounds + number, tl.zeros_like(number), mask=number == 0)


@triton.jit
def _place(
    bounds,
    block_expert,
    block_start,
    blocks,
    experts,
    ROWS: tl.constexpr,
    EXPERTS: tl.constexpr,
    COUNT: tl.constexpr,
):
    number = tl.arange(0, EXPERTS)
    start = tl.load(bounds + number, mask=number < experts, other=0)
    end = tl.load(bounds + number + 1, mask=number < experts, other=0)
    needed = (end - start + ROWS - 1) // ROWS
    last = tl.cumsum(needed, 0)
    block = tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    expert = tl.sum((last[None, :] <= block[:, None]).to(tl.int32), axis=1)
    used = expert < experts
    its = number[None, :] == expert[:, None]
    place = tl.sum(tl.where(its, (start - (last - needed) * ROWS)[None, :], 0), axis=1) + block * ROWS
    tl.store(block_expert + block, tl.where(used, expert, -1), mask=block < blocks)
    tl.store(block_start + block, place, mask=block < blocks)


def plan(topk_ids: torch.Tensor, experts: int, rows: int) -> SlotOrder:
    """Sort the slots and place the blocks, on the device, without reading a result on the host.

    Args:
        topk_ids: [M, k] int32, each in [0, experts).
        experts: E.
        rows: rows of a block.
    """
    flat = topk_ids.reshape(-1)
    slots = flat.numel()
    width = triton.next_power_of_2(experts + 1)
    if slots <= _LARGEST_SINGLE_SORT:
        order = torch.empty(slots, dtype=torch.int32, device=flat.device)
        bounds = torch.empty(experts + 1, dtype=torch.int32, device=flat.device)
        _sort[(1,)](
            flat,
            order,
            bounds,
            slots,
            experts,
            SLOTS=max(16, triton.next_power_of_2(slots)),
            EXPERTS=width,
            num_warps=4,
        )
    else:
        by_expert, places = torch.sort(flat, stable=True)
        order = places.int()
        edges = torch.arange(experts + 1, dtype=flat.dtype, device=flat.device)
        bounds = torch.searchsorted(by_expert, edges, out_int32=True)
    blocks = min(slots, triton.cdiv(slots, rows) + experts - 1)
    block_expert = torch.empty(blocks, dtype=torch.int32, device=flat.device)
    block_start = torch.empty_like(block_expert)
    _place[(triton.cdiv(blocks, _BLOCKS_AT_ONCE),)](
        bounds, block_expert, block_start, blocks, experts, ROWS=rows, EXPERTS=width, COUNT=_BLOCKS_AT_ONCE, num_warps=4
    )
    return SlotOrder(order, bounds, block_expert, block_start, rows)
