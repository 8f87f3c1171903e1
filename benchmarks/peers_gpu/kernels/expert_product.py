"""Grouped GEMM in bf16: every slot's row times the transposed matrix of its expert, added up in fp32."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from benchmarks.peers_gpu.kernels.slot_order import SlotOrder

_TILE_GROUP = 8


@dataclass(frozen=True)
class Tile:
    """Sizes of a tile, and how it is computed."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int


_TILES = (
    Tile(rows=16, columns=64, depth=128, warps=4, stages=4),
    Tile(rows=32, columns=128, depth=64, warps=4, stages=4),
    Tile(rows=64, columns=128, depth=64, warps=4, stages=4),
    Tile(rows=128, columns=256, depth=64, warps=8, stages=3),
)


def tile_for(slots: int, experts: int) -> Tile:
    """The smallest tile that takes an expert's average share of the slots in one block of rows."""
    share = slots / experts
    return next((tile for tile in _TILES if share <= tile.rows), _TILES[-1])


@triton.jit(do_not_specialize=["blocks"])
def _product(
    rows,
    matrices,
    result,
    order,
    slot_weight,
    bounds,
    block_expert,
    block_start,
    blocks,
    columns,
    depth: tl.constexpr,
    CHOICES: tl.constexpr,
    FIRST: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    WIDEN: tl.constexpr,
):
    # Neighbouring programs share rows or columns, so that what one has read is in the cache for the next.
    program = tl.program_id(0)
    tiles = tl.cdiv(columns, COLUMNS)
    group = program // (GROUP * tiles)
    height = tl.minimum(blocks - group * GROUP, GROUP)
    block = group * GROUP + program % (GROUP * tiles) % height
    tile = program % (GROUP * tiles) // height
    expert = tl.load(block_expert + block)
    if expert < 0:
        return
    place = tl.load(block_start + block) + tl.arange(0, ROWS)
    inside = place < tl.load(bounds + expert + 1)
    slot = tl.load(order + place, mask=inside, other=0)
    source = slot // CHOICES if FIRST else place
    column = tile * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.arange(0, DEPTH)
    left = rows + source.to(tl.int64)[:, None] * depth + k[None, :]
    right = matrices + expert.to(tl.int64) * columns * depth + (column % columns)[None, :] * depth + k[:, None]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, depth, DEPTH):
        if depth % DEPTH == 0:
            x = tl.load(left, mask=inside[:, None], other=0.0)
            w = tl.load(right)
        else:
            x = tl.load(left, mask=inside[:, None] & (k < depth - start)[None, :], other=0.0)
            w = tl.load(right, mask=(k < depth - start)[:, None], other=0.0)
        if WIDEN:
            x = x.to(tl.float32)
            w = w.to(tl.float32)
        total = tl.dot(x, w, total)
        left += DEPTH
        right += DEPTH
    if FIRST:
        target = place
    else:
        total *= tl.load(slot_weight + slot, mask=inside, other=0.0)[:, None]
        target = slot
    tl.store(
        result + target.to(tl.int64)[:, None] * columns + column[None, :],
        total.to(tl.bfloat16),
        mask=inside[:, None] & (column < columns)[None, :],
    )


def first_product(x: torch.Tensor, w1: torch.Tensor, choices: int, order: SlotOrder, tile: Tile) -> torch.Tensor:
    """Each slot's row of x [M, H] times w1 [E, N1, H]: [S, N1] bf16, sorted as `order`."""
    return _launch(x, w1, None, choices, order, tile)


def second_product(
    activated: torch.Tensor, w2: torch.Tensor, topk_weight: torch.Tensor, order: SlotOrder, tile: Tile
) -> torch.Tensor:
    """Sorted [S, I] times w2 [E, H, I] times the routing weight [M, k]: [S, H] bf16 by slot number."""
    return _launch(activated, w2, topk_weight, topk_weight.shape[1], order, tile)


def _launch(
    rows: torch.Tensor,
    matrices: torch.Tensor,
    slot_weight: torch.Tensor | None,
    choices: int,
    order: SlotOrder,
    tile: Tile,
) -> torch.Tensor:
    _, columns, depth = matrices.shape
    result = rows.new_empty(order.order.numel(), columns)
    blocks = order.block_expert.numel()
    _product[(blocks * triton.cdiv(columns, tile.columns),)](
        rows,
        matrices,
        result,
        order.order,
        slot_weight,
        order.bounds,
        order.block_expert,
        order.block_start,
        blocks,
        columns,
        depth,
        CHOICES=choices,
        FIRST=slot_weight is None,
        ROWS=tile.rows,
        COLUMNS=tile.columns,
        DEPTH=tile.depth,
        GROUP=_TILE_GROUP,
        WIDEN=triton.knobs.runtime.interpret,  # the interpreter multiplies bf16 operands as if they were integers
        num_warps=tile.warps,
        num_stages=tile.stages,
    )
    return result
