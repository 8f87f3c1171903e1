"""A layer of few tokens in three launches: every slot reads its expert's matrices by itself."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton

from aiter_compat.backends.emulation.expert_matrices import MX_BLOCK
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.triton_path.between_products import (
    activation_numbers,
    scale_bytes,
    second_rounding_from,
    sum_rounding,
    weighted_where,
)
from aiter_compat.backends.emulation.triton_path.kernels.slot_products import (
    round_slot_tokens,
    slot_first_product,
    slot_second_product,
)
from aiter_compat.backends.emulation.triton_path.slot_placement import Routing, routing_of
from aiter_compat.backends.emulation.triton_path.tile_choice import SlotTiles, slot_tiles_for

_ROUNDED_BLOCKS = 32
"""Blocks that a program rounds: few, since few tokens leave the GPU empty."""


def run_slots(request: EmulationRequest, tiles: SlotTiles | None = None) -> torch.Tensor:
    """Compute the MoE of a request that `forms.slots_refusals` has nothing against.

    Args:
        request: the call.
        tiles: in place of the rule's.

    Returns:
        [M, H] of `request.out_dtype`.
    """
    tokens, hidden = request.hidden_states.shape
    slots, features = request.topk_ids.numel(), request.w2.shape[2] * 2
    device = request.hidden_states.device
    out = torch.empty(tokens, hidden, dtype=request.out_dtype, device=device)
    if slots == 0:
        return out.zero_()
    tiles = tiles or slot_tiles_for(features)
    routing = routing_of(request)
    rounded, inner = _room(tokens, hidden, device), _room(slots, features, device)
    round_slot_tokens[(tokens, triton.cdiv(hidden // MX_BLOCK, _ROUNDED_BLOCKS))](
        request.hidden_states, request.hidden_states.stride(0), rounded.codes, rounded.scales, hidden,
        request.profile.block_amax_floor,
        BLOCKS=_ROUNDED_BLOCKS, RULE=request.profile.mxfp4_scale_rule, num_warps=4,
    )  # fmt: skip
    _first_product(request, routing, rounded, inner, tiles)
    _second_product(request, routing, inner, out, tiles)
    return out


@dataclass(frozen=True, eq=False)
class _Operand:
    """What a product multiplies the weights by, a row for each token or slot.

    Attributes:
        codes: int32 [rows, columns / 4], twice the MXFP4 elements in bytes.
        scales: uint8 [rows, columns / 32], e8m0 bytes of their blocks.
    """

    codes: torch.Tensor
    scales: torch.Tensor


def _room(rows: int, columns: int, device: torch.device) -> _Operand:
    return _Operand(
        torch.empty(rows, columns // 4, dtype=torch.int32, device=device),
        torch.empty(rows, columns // MX_BLOCK, dtype=torch.uint8, device=device),
    )


def _first_product(
    request: EmulationRequest, routing: Routing, rounded: _Operand, inner: _Operand, tiles: SlotTiles
) -> None:
    """Write the activation's output, rounded, to `inner`."""
    spec, hidden, features = request.activation, rounded.codes.shape[1] * 4, inner.codes.shape[1] * 4
    blocks = hidden // MX_BLOCK
    at_once = min(tiles.blocks, triton.next_power_of_2(blocks))
    slot_first_product[(routing.ids.numel(), features // MX_BLOCK)](
        rounded.codes, rounded.scales, routing.ids, routing.weights, routing.local, routing.limit,
        _words(request.w1), scale_bytes(request.w1_scale), request.w1 if request.bias1 is None else request.bias1,
        inner.codes, inner.scales,
        routing.ids.numel(), routing.global_experts, request.w1.shape[0], hidden, features,
        *activation_numbers(request),
        CHOICES=routing.ids.shape[1], BLOCKS=at_once, STEPS=triton.cdiv(blocks, at_once), **routing.options,
        ACTIVATION=spec.name, GATED=spec.gated, INTERLEAVED=request.gate_rows == "interleaved",
        LINEAR_BETA=spec.linear_beta is not None, BIAS=request.bias1 is not None, WEIGHTED=weighted_where(request),
        RULE=request.profile.mxfp4_scale_rule, SHORT=second_rounding_from(request),
        PTX=_has_ptx(rounded.codes.device), num_warps=tiles.warps,
    )  # fmt: skip


def _second_product(
    request: EmulationRequest, routing: Routing, inner: _Operand, out: torch.Tensor, tiles: SlotTiles
) -> None:
    """Write the sum over every token's slots to `out`."""
    (tokens, hidden), features = out.shape, inner.codes.shape[1] * 4
    choices, blocks = routing.ids.shape[1], features // MX_BLOCK
    at_once = min(tiles.second_blocks, triton.next_power_of_2(blocks))
    slot_second_product[(tokens, triton.cdiv(hidden, tiles.rows))](
        inner.codes, inner.scales, routing.ids, routing.weights, routing.local, routing.limit,
        _words(request.w2), scale_bytes(request.w2_scale), request.w2 if request.bias2 is None else request.bias2, out,
        routing.ids.numel(), routing.global_experts, request.w2.shape[0], features, hidden,
        CHOICES=choices, SLOTS=triton.next_power_of_2(choices), ROWS=tiles.rows,
        BLOCKS=at_once, STEPS=triton.cdiv(blocks, at_once), **routing.options,
        BIAS=request.bias2 is not None, WEIGHTED=not request.doweight_stage1,
        **sum_rounding(request), PTX=_has_ptx(out.device), num_warps=tiles.second_warps,
    )  # fmt: skip


def _has_ptx(device: torch.device) -> bool:
    return device.type == "cuda" and torch.version.hip is None


def _words(stored: torch.Tensor) -> torch.Tensor:
    """int32 [experts, rows, columns / 8] of packed codes."""
    return stored.view(torch.uint8).view(torch.int32)
