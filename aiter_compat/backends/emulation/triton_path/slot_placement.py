"""Routing as the kernels read it, and the rows and tiles that slots go to where a kernel of its own places them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton

from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.triton_path.kernels.placement import (
    TILES_AT_ONCE,
    count_slots,
    number_experts,
    place_rows,
    tile_bound,
)

_CHUNK = 512
_PIECE = 16
_CHUNKS_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class Routing:
    """Routing as the kernels read it.

    Attributes:
        ids: [M, k] contiguous, as given.
        weights: [M, k] contiguous.
        local: int32 [global experts], their local numbers; any tensor when there is no mask.
        global_experts: how many, 0 without a mask.
        limit: one integer, rows that count; any tensor when all do.
        options: the kernels' MASKED, SKIP_ZERO and LIMITED.
    """

    ids: torch.Tensor
    weights: torch.Tensor
    local: torch.Tensor
    global_experts: int
    limit: torch.Tensor
    options: dict[str, Any]


def routing_of(request: EmulationRequest) -> Routing:
    """Read the routing of a request; one launch where there is a mask."""
    device = request.hidden_states.device
    weights = request.topk_weight.contiguous()
    local, global_experts = weights, 0
    if request.expert_mask is not None:
        global_experts = request.expert_mask.shape[0]
        local = torch.empty(global_experts, dtype=torch.int32, device=device)
        number_experts[(1,)](request.expert_mask, local, global_experts, COUNT=triton.next_power_of_2(global_experts))
    limit = request.num_local_tokens
    if isinstance(limit, int):
        limit = torch.full((1,), limit, dtype=torch.int32, device=device)
    options = {
        "MASKED": request.expert_mask is not None,
        "SKIP_ZERO": request.zero_weight_rule,
        "LIMITED": limit is not None,
    }
    return Routing(
        request.topk_ids.contiguous(), weights, local, global_experts, weights if limit is None else limit, options
    )


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the slots of a call are computed.

    Attributes:
        slot_of_row: int32 [slots].
        row_of_slot: int32 [slots], -1 for slots that are not computed.
        first_tiles: expert, first row and end of each tile of the first product, int32 each; expert -1 for none.
        second_tiles: the same of the second product.
    """

    slot_of_row: torch.Tensor
    row_of_slot: torch.Tensor
    first_tiles: list[torch.Tensor]
    second_tiles: list[torch.Tensor]


def place_slots(request: EmulationRequest, routing: Routing, tokens_of_tiles: tuple[int, int]) -> Placement:
    """Sort the slots by expert, a shared one being the last, and cut their rows into tiles; two launches.

    Args:
        request: the call, which has one slot at least.
        routing: its routing.
        tokens_of_tiles: rows of the tiles of each product.
    """
    slots, choices, routed = routing.ids.numel(), routing.ids.shape[1], request.w1.shape[0]
    shared = request.shared_w1 is not None
    experts, chunks = routed + shared, triton.cdiv(slots, _CHUNK)
    bounds = [tile_bound(slots, experts, tokens) for tokens in tokens_of_tiles]
    expert_of_slot, counts, slot_of_row, row_of_slot, *tables = numbers(
        [slots, chunks * experts, slots, slots] + [bounds[0]] * 3 + [bounds[1]] * 3, request.hidden_states.device
    )
    count_slots[(chunks,)](
        routing.ids, routing.weights, routing.local, routing.limit, expert_of_slot, counts,
        slots, routing.global_experts, routed, choices, experts, **routing.options,
        CHUNK=_CHUNK, EXPERTS=triton.next_power_of_2(experts + 1),
        shared_id=request.shared_expert_id, SHARED=shared, num_warps=4,
    )  # fmt: skip
    place_rows[(max(chunks, triton.cdiv(max(bounds), TILES_AT_ONCE)),)](
        expert_of_slot, counts, chunks, slot_of_row, row_of_slot,
        *tables[:3], bounds[0], *tables[3:], bounds[1], slots, experts,
        EXPERTS=triton.next_power_of_2(experts), TOKENS=tokens_of_tiles[0], TOKENS_2=tokens_of_tiles[1],
        CHUNK=_CHUNK, PIECE=_PIECE, CHUNKS_AT_ONCE=_CHUNKS_AT_ONCE, num_warps=8,
    )  # fmt: skip
    return Placement(slot_of_row, row_of_slot, tables[:3], tables[3:])


def numbers(sizes: list[int], device: torch.device) -> list[torch.Tensor]:
    """int32 tensors from one allocation, each at a multiple of 16 bytes: kernels are compiled for that alone."""
    padded = [-(-size // 4) * 4 for size in sizes]
    whole = torch.empty(sum(padded), dtype=torch.int32, device=device)
    return [piece[:size] for piece, size in zip(torch.split(whole, padded), sizes, strict=True)]
