"""A whole MXFP4 layer in kernels: placement and rounding, two products, sum. Nothing waits for the device."""

from __future__ import annotations

from dataclasses import dataclass

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
from aiter_compat.backends.emulation.triton_path.boxes import boxes, feature_boxes, paired_boxes
from aiter_compat.backends.emulation.triton_path.kernels.first_product import first_product
from aiter_compat.backends.emulation.triton_path.kernels.placement import (
    TILES_AT_ONCE,
    tile_bound,
)
from aiter_compat.backends.emulation.triton_path.kernels.second_product import second_product
from aiter_compat.backends.emulation.triton_path.kernels.token_rounding import round_tokens
from aiter_compat.backends.emulation.triton_path.slot_placement import (
    Placement,
    Routing,
    numbers,
    place_slots,
    routing_of,
)
from aiter_compat.backends.emulation.triton_path.tile_choice import STEP_COLUMNS, Tiles, tiles_for

_COUNTED_BY_EACH = 1024
"""Up to so many slots every program of `round_tokens` finds the rows of its slots itself."""
_WORD_COLUMNS = 128
"""Columns whose scales fill a 32-bit word."""
_BOX_SCALES = 16
"""Scales of a row that the copy engine fetches at once, its least; rows must begin at multiples of them."""


def run_exact(request: EmulationRequest, tiles: tuple[Tiles, Tiles] | None = None) -> torch.Tensor:
    """Compute the MoE of a request that `forms.exact_refusals` has nothing against.

    Args:
        request: the call.
        tiles: of both products, in place of the rule's.

    Returns:
        [M, H] of `request.out_dtype`.
    """
    tokens, hidden = request.hidden_states.shape
    slots, features = request.topk_ids.numel(), request.w2.shape[2] * 2
    device = request.hidden_states.device
    out = torch.empty(tokens, hidden, dtype=request.out_dtype, device=device)
    if slots == 0:
        return out.zero_()
    first, second = tiles or tiles_for(slots, request.w1.shape[0], features)
    rounded, inner = _operands(slots, hidden, features, device)
    routing = routing_of(request)
    placement, bases = _place_and_round(request, routing, rounded, inner, (first.tokens, second.tokens))
    _first_product(request, routing, placement, rounded, bases, inner, first)
    results = torch.empty(second.parts, slots, hidden, dtype=torch.float32, device=device)
    _second_product(request, routing, placement, inner, results, second)
    sum_into(out, results, placement.row_of_slot, request)
    return out


@dataclass(frozen=True, eq=False)
class _Operand:
    """What a product reads beside its weights, by row of the placement.

    Attributes:
        codes: e5m2 [slots, columns], elements of e2m1 with the scales of their blocks in their exponents.
        scales: fp32 [columns / 32, slots], written and read for rows that are marked in `apart`.
        apart: uint8 [slots up to a multiple of 4], rows with blocks that keep scales of their own.
    """

    codes: torch.Tensor
    scales: torch.Tensor
    apart: torch.Tensor


def _operands(slots: int, hidden: int, features: int, device: torch.device) -> tuple[_Operand, _Operand]:
    """Room for the operands of both products."""
    apart1, apart2 = (marks.view(torch.uint8) for marks in numbers([triton.cdiv(slots, 4)] * 2, device))
    codes1 = torch.empty(slots, hidden, dtype=torch.float8_e5m2, device=device)
    scales1 = torch.empty(hidden // MX_BLOCK, slots, dtype=torch.float32, device=device)
    codes2 = torch.empty(slots, features, dtype=torch.float8_e5m2, device=device)
    scales2 = torch.empty(features // MX_BLOCK, slots, dtype=torch.float32, device=device)
    return _Operand(codes1, scales1, apart1), _Operand(codes2, scales2, apart2)


def _place_and_round(
    request: EmulationRequest,
    routing: Routing,
    rounded: _Operand,
    inner: _Operand,
    tokens_of_tiles: tuple[int, int],
) -> tuple[Placement, torch.Tensor]:
    """Write the rounded tokens to the rows of their slots; one launch, three where many slots are placed first.

    Returns:
        Where the slots are, and int32 [slots], the e8m0 byte that the folded scales of each row count from.
    """
    hidden_states, device = request.hidden_states, request.hidden_states.device
    tokens, hidden = hidden_states.shape
    experts, choices = request.w1.shape[0], routing.ids.shape[1]
    slots = tokens * choices
    bases = numbers([slots], device)[0]
    placed = slots > _COUNTED_BY_EACH
    placement = (place_slots if placed else _room_for)(request, routing, tokens_of_tiles)
    first_tiles, second_tiles = placement.first_tiles[0].numel(), placement.second_tiles[0].numel()
    counting = 0 if placed else triton.cdiv(max(first_tiles, second_tiles), TILES_AT_ONCE)
    round_tokens[(tokens + counting,)](
        hidden_states, hidden_states.stride(0), routing.ids, routing.weights, routing.local, routing.limit,
        rounded.codes.view(torch.int32), rounded.scales, slots, bases, rounded.apart, inner.apart,
        placement.slot_of_row, placement.row_of_slot,
        *placement.first_tiles, first_tiles, *placement.second_tiles, second_tiles,
        tokens, slots, routing.global_experts, experts, hidden, request.profile.block_amax_floor,
        CHOICES=choices, BLOCKS=triton.next_power_of_2(hidden // MX_BLOCK),
        SLOTS=1 if placed else triton.next_power_of_2(slots), EXPERTS=triton.next_power_of_2(experts),
        TOKENS=tokens_of_tiles[0], TOKENS_2=tokens_of_tiles[1], PLACED=placed,
        **routing.options, RULE=request.profile.mxfp4_scale_rule,
        num_warps=8 if hidden > 4096 else 4,
    )  # fmt: skip
    return placement, bases


def _room_for(request: EmulationRequest, routing: Routing, tokens_of_tiles: tuple[int, int]) -> Placement:
    """A placement that `round_tokens` fills in."""
    slots = routing.ids.numel()
    bounds = [tile_bound(slots, request.w1.shape[0], tokens) for tokens in tokens_of_tiles]
    slot_of_row, row_of_slot, *tables = numbers(
        [slots] * 2 + [bounds[0]] * 3 + [bounds[1]] * 3, request.hidden_states.device
    )
    return Placement(slot_of_row, row_of_slot, tables[:3], tables[3:])


def _first_product(
    request: EmulationRequest,
    routing: Routing,
    placement: Placement,
    rounded: _Operand,
    bases: torch.Tensor,
    inner: _Operand,
    tiles: Tiles,
) -> None:
    """Write the rounded result of the first product and its activation to `inner`."""
    spec = request.activation
    experts, first_rows = request.w1.shape[:2]
    (slots, hidden), features = rounded.codes.shape, inner.codes.shape[1]
    interleaved = request.gate_rows == "interleaved"
    width = tiles.rows // 2 if spec.gated else tiles.rows
    come = _scales_come(hidden)
    first_product[(triton.cdiv(features, width), placement.first_tiles[0].numel())](
        _weights(request.w1, experts * features if interleaved else experts * first_rows, tiles),
        _rows(rounded.codes, tiles), rounded.scales, slots, _first_scales(request, come, tiles),
        request.w1 if request.bias1 is None else request.bias1, routing.weights,
        *placement.first_tiles, placement.slot_of_row, bases, rounded.apart,
        inner.codes.view(torch.uint8), inner.scales, slots, inner.apart, hidden, features,
        *activation_numbers(request),
        ROWS=tiles.rows, TOKENS=tiles.tokens, LEAST=tiles.least, STAGES=tiles.stages,
        SCALES=come, HALF_LAST=_half_last(hidden), WARPS=tiles.warps, OVERLAP=tiles.overlap,
        ACTIVATION=spec.name, GATED=spec.gated, INTERLEAVED=interleaved,
        LINEAR_BETA=spec.linear_beta is not None, BIAS=request.bias1 is not None, WEIGHTED=weighted_where(request),
        RULE=request.profile.mxfp4_scale_rule, SHORT=second_rounding_from(request),
        num_warps=tiles.warps, maxnreg=tiles.registers,
    )  # fmt: skip


def _second_product(
    request: EmulationRequest,
    routing: Routing,
    placement: Placement,
    inner: _Operand,
    results: torch.Tensor,
    tiles: Tiles,
) -> None:
    """Write weighted results to fp32 [parts, slots, H], by row."""
    experts, hidden = request.w2.shape[:2]
    slots, features = inner.codes.shape
    weights = request.w2.view(torch.uint8).view(experts * hidden, -1)
    resident = triton.cdiv(features, STEP_COLUMNS) if tiles.resident and tiles.parts == 1 else 0
    come = "copied" if resident and features % _WORD_COLUMNS == 0 else _scales_come(features)
    second_product[
        (triton.cdiv(hidden, tiles.rows * tiles.repeats), placement.second_tiles[0].numel(), tiles.parts)
    ](
        paired_boxes(weights, tiles.rows, STEP_COLUMNS // 2), _rows(inner.codes, tiles), inner.scales, slots,
        _second_scales(request, come, tiles), request.w2 if request.bias2 is None else request.bias2, routing.weights,
        *placement.second_tiles, placement.slot_of_row,
        inner.apart, results, feature_boxes(results[0], tiles.tokens, tiles.rows) if tiles.boxed else results,
        slots * hidden, features, hidden, tiles.parts, tiles.repeats,
        ROWS=tiles.rows, TOKENS=tiles.tokens, LEAST=tiles.least, STAGES=tiles.stages,
        RESIDENT=resident,
        SCALES=come, HALF_LAST=tiles.parts == 1 and _half_last(features),
        WARPS=tiles.warps, OVERLAP=tiles.overlap,
        BIAS=request.bias2 is not None, WEIGHTED=not request.doweight_stage1, BOXED=tiles.boxed,
        num_warps=tiles.warps, maxnreg=tiles.registers,
    )  # fmt: skip


def _first_scales(request: EmulationRequest, come: str, tiles: Tiles) -> torch.Tensor | TensorDescriptor:
    """The scales of w1, as boxes where the copy engine fetches them."""
    stored = scale_bytes(request.w1_scale)
    if come != "fetched":
        return stored
    rows = request.w1.shape[0] * request.w1.shape[1]
    if request.gate_rows == "interleaved":
        rows //= 2
    return boxes(stored.view(rows, -1), tiles.rows // 2, _BOX_SCALES)


def _second_scales(request: EmulationRequest, come: str, tiles: Tiles) -> torch.Tensor | TensorDescriptor:
    """The same of w2, in the order of its boxes."""
    stored, (experts, hidden, _) = scale_bytes(request.w2_scale), request.w2.shape
    return paired_boxes(stored.view(experts * hidden, -1), tiles.rows, _BOX_SCALES) if come == "fetched" else stored


def _scales_come(columns: int) -> str:
    """How the products read the scales of weights with so many columns, as `product_loop` names it."""
    if columns % (MX_BLOCK * _BOX_SCALES) == 0:
        return "fetched"
    return "words" if columns % _WORD_COLUMNS == 0 else "bytes"


def _half_last(columns: int) -> bool:
    """Whether half of the last step or more lies beyond the columns."""
    return 0 < columns % STEP_COLUMNS <= STEP_COLUMNS // 2


def _weights(stored: torch.Tensor, rows: int, tiles: Tiles) -> TensorDescriptor:
    return boxes(stored.view(torch.uint8).view(rows, -1), tiles.rows // 2, STEP_COLUMNS // 2)


def _rows(codes: torch.Tensor, tiles: Tiles) -> TensorDescriptor:
    return boxes(codes, tiles.tokens, STEP_COLUMNS // 2)
