"""A whole layer of MXFP4 weights and bf16 activations on a Hopper GPU. Nothing waits for the device."""

from __future__ import annotations

import torch
import triton
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from aiter_compat.backends.emulation.expert_matrices import MX_BLOCK
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.triton_path.between_products import (
    activation_numbers,
    scale_bytes,
    second_rounding_from,
    sum_into,
    weighted_where,
)
from aiter_compat.backends.emulation.triton_path.boxes import boxes
from aiter_compat.backends.emulation.triton_path.kernels.plain_rows import slot_rows
from aiter_compat.backends.emulation.triton_path.kernels.wide_products import wide_first_product, wide_second_product
from aiter_compat.backends.emulation.triton_path.scale_rules import scale_rule
from aiter_compat.backends.emulation.triton_path.slot_placement import Placement, Routing, place_slots, routing_of
from aiter_compat.backends.emulation.triton_path.tile_choice import WideTiles, wide_tiles_for

_STEP = 128


def run_wide(request: EmulationRequest, tiles: tuple[WideTiles, WideTiles] | None = None) -> torch.Tensor:
    """Compute the MoE of a request that `forms.wide_refusals` has nothing against.

    Args:
        request: the call.
        tiles: of both products, in place of the rule's.

    Returns:
        [M, H] of `request.out_dtype`.
    """
    tokens, hidden = request.hidden_states.shape
    slots = request.topk_ids.numel()
    device = request.hidden_states.device
    out = torch.empty(tokens, hidden, dtype=request.out_dtype, device=device)
    if slots == 0:
        return out.zero_()
    first, second = tiles or wide_tiles_for(slots, request.w1.shape[0], request.w2.shape[2] * 2)
    routing = routing_of(request)
    placement = place_slots(request, routing, (first.tokens, second.tokens))
    rows = _slot_rows(request, placement)
    between = _first_product(request, routing, placement, rows, first)
    results = torch.empty(1, slots, hidden, dtype=torch.float32, device=device)
    _second_product(request, routing, placement, between, results, second)
    sum_into(out, results, placement.row_of_slot, request)
    return out


def _slot_rows(request: EmulationRequest, placement: Placement) -> torch.Tensor:
    """bf16 [slots, H up to a whole step]: the first operand by row, in the order of planes."""
    tokens, hidden = request.hidden_states.shape
    slots, columns = request.topk_ids.numel(), triton.cdiv(hidden, _STEP) * _STEP
    rows = torch.empty(slots, columns, dtype=torch.bfloat16, device=request.hidden_states.device)
    slot_rows[(tokens,)](
        request.hidden_states, request.hidden_states.stride(0), rows, placement.row_of_slot, hidden, columns,
        request.profile.block_amax_floor,
        CHOICES=slots // tokens, BLOCKS=triton.next_power_of_2(columns // MX_BLOCK), ROUNDING=request.qdq_first,
        RULE=scale_rule(request.qdq_first, request.profile), num_warps=8 if hidden > 4096 else 4,
    )  # fmt: skip
    return rows


def _first_product(
    request: EmulationRequest, routing: Routing, placement: Placement, rows: torch.Tensor, tiles: WideTiles
) -> torch.Tensor:
    """bf16 [slots, I up to a whole step]: the second operand, by row."""
    spec = request.activation
    experts, first_rows = request.w1.shape[:2]
    hidden, features = request.w1.shape[2] * 2, request.w2.shape[2] * 2
    columns = triton.cdiv(features, _STEP) * _STEP
    between = torch.empty(rows.shape[0], columns, dtype=torch.bfloat16, device=rows.device)
    interleaved = request.gate_rows == "interleaved"
    width = tiles.rows // 2 if spec.gated else tiles.rows
    wide_first_product[(triton.cdiv(columns, width), placement.first_tiles[0].numel())](
        _weights(request.w1, experts * features if interleaved else experts * first_rows, tiles), _rows(rows, tiles),
        scale_bytes(request.w1_scale), request.w1 if request.bias1 is None else request.bias1, routing.weights,
        *placement.first_tiles, placement.slot_of_row, between, columns, hidden, features,
        *activation_numbers(request),
        ROWS=tiles.rows, TOKENS=tiles.tokens, LEAST=tiles.least, STEP=tiles.step, STAGES=tiles.stages,
        ALIGNED=hidden % _STEP == 0, WARPS=tiles.warps,
        ACTIVATION=spec.name, GATED=spec.gated, INTERLEAVED=interleaved,
        LINEAR_BETA=spec.linear_beta is not None, BIAS=request.bias1 is not None, WEIGHTED=weighted_where(request),
        ROUNDING=request.qdq_second, RULE=scale_rule(request.qdq_second, request.profile),
        SHORT=second_rounding_from(request), num_warps=tiles.warps, maxnreg=tiles.registers,
    )  # fmt: skip
    return between


def _second_product(
    request: EmulationRequest,
    routing: Routing,
    placement: Placement,
    between: torch.Tensor,
    results: torch.Tensor,
    tiles: WideTiles,
) -> None:
    experts, hidden = request.w2.shape[:2]
    features = request.w2.shape[2] * 2
    wide_second_product[(triton.cdiv(hidden, tiles.rows * tiles.repeats), placement.second_tiles[0].numel())](
        _weights(request.w2, experts * hidden, tiles), _rows(between, tiles),
        scale_bytes(request.w2_scale), request.w2 if request.bias2 is None else request.bias2, routing.weights,
        *placement.second_tiles, placement.slot_of_row, results, features, hidden, tiles.repeats,
        ROWS=tiles.rows, TOKENS=tiles.tokens, LEAST=tiles.least, STEP=tiles.step, STAGES=tiles.stages,
        ALIGNED=features % _STEP == 0, WARPS=tiles.warps,
        BIAS=request.bias2 is not None, WEIGHTED=not request.doweight_stage1,
        num_warps=tiles.warps, maxnreg=tiles.registers,
    )  # fmt: skip


def _weights(stored: torch.Tensor, rows: int, tiles: WideTiles) -> TensorDescriptor:
    return boxes(stored.view(torch.uint8).view(rows, -1).view(torch.int32), tiles.rows // 2, tiles.step // 8)


def _rows(rows: torch.Tensor, tiles: WideTiles) -> TensorDescriptor:
    return boxes(rows, tiles.tokens, 64)
