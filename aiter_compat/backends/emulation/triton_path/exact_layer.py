"""A whole MXFP4 layer in kernels: placement and rounding, two products, sum. Nothing waits for the device."""

from __future__ import annotations

import torch
import triton
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.triton_path.between_products import (
    activation_numbers,
    second_rounding_from,
    sum_into,
    weighted_where,
)
from aiter_compat.backends.emulation.triton_path.kernels.first_product import first_product
from aiter_compat.backends.emulation.triton_path.kernels.placement import (
    TILES_AT_ONCE,
    rank_slots,
    tile_bound,
)
from aiter_compat.backends.emulation.triton_path.kernels.second_product import second_product
from aiter_compat.backends.emulation.triton_path.kernels.token_rounding import round_tokens
from aiter_compat.backends.emulation.triton_path.slot_placement import RANKED_AT_ONCE, numbers, routing_of
from aiter_compat.backends.emulation.triton_path.tile_choice import STEP_COLUMNS, Tiles, tiles_for

_BLOCK = 32
_COUNTED_BY_EACH = 1024
"""Up to so many slots every program of `round_tokens` finds the rows of its slots itself."""


def run_exact(request: EmulationRequest, tiles: tuple[Tiles, Tiles] | None = None) -> torch.Tensor:
    """Compute the MoE of a request that `forms.exact_refusals` has nothing against.

    Args:
        request: the call.
        tiles: of both products, in place of the rule's.

    Returns:
        [M, H] of `request.out_dtype`.
    """
    hidden_states = request.hidden_states
    tokens, hidden = hidden_states.shape
    device = hidden_states.device
    choices = request.topk_ids.shape[1]
    experts, first_rows = request.w1.shape[:2]
    features = request.w2.shape[2] * 2
    slots = tokens * choices
    out = torch.empty(tokens, hidden, dtype=request.out_dtype, device=device)
    if slots == 0:
        return out.zero_()
    first, second = tiles or tiles_for(slots, experts, features)
    spec, profile = request.activation, request.profile
    tables = [tile_bound(slots, experts, tiles.tokens) for tiles in (first, second)]
    bases, slot_of_row, row_of_slot, *of_tables = numbers([slots] * 3 + [tables[0]] * 3 + [tables[1]] * 3, device)
    first_table, second_table = of_tables[:3], of_tables[3:]
    apart1, apart2 = (marks.view(torch.uint8) for marks in numbers([triton.cdiv(slots, 4)] * 2, device))
    codes1 = torch.empty(slots, hidden, dtype=torch.float8_e5m2, device=device)
    scales1 = torch.empty(hidden // _BLOCK, slots, dtype=torch.float32, device=device)
    codes2 = torch.empty(slots, features, dtype=torch.float8_e5m2, device=device)
    scales2 = torch.empty(features // _BLOCK, slots, dtype=torch.float32, device=device)
    results = torch.empty(second.parts, slots, hidden, dtype=torch.float32, device=device)

    routing = routing_of(request)
    ranked = slots > _COUNTED_BY_EACH
    of_slot, rank_of_slot, first_row, per_expert = row_of_slot, row_of_slot, row_of_slot, row_of_slot
    if ranked:
        of_slot, rank_of_slot, first_row, per_expert = numbers([slots, slots, experts, experts], device)
        rank_slots[(experts,)](
            routing.ids, routing.weights, routing.local, routing.limit, of_slot, rank_of_slot, first_row, per_expert,
            slots, routing.global_experts, experts, choices, **routing.options, AT_ONCE=RANKED_AT_ONCE, num_warps=8,
        )  # fmt: skip
    round_tokens[(tokens + triton.cdiv(max(tables), TILES_AT_ONCE),)](
        hidden_states, hidden_states.stride(0), routing.ids, routing.weights, routing.local, routing.limit,
        of_slot, rank_of_slot, first_row, per_expert,
        codes1.view(torch.uint8), scales1, slots, bases, apart1, apart2, slot_of_row, row_of_slot,
        *first_table, tables[0], *second_table, tables[1],
        tokens, slots, routing.global_experts, experts, hidden, profile.block_amax_floor,
        CHOICES=choices, CHOICES_2=triton.next_power_of_2(choices), BLOCKS=triton.next_power_of_2(hidden // _BLOCK),
        SLOTS=1 if ranked else triton.next_power_of_2(slots), EXPERTS=triton.next_power_of_2(experts),
        TOKENS=first.tokens, TOKENS_2=second.tokens, RANKED=ranked, **routing.options,
        RULE=profile.mxfp4_scale_rule,
        num_warps=8 if hidden > 4096 else 4,
    )  # fmt: skip

    interleaved = request.gate_rows == "interleaved"
    width = first.rows // 2 if spec.gated else first.rows
    first_product[(triton.cdiv(features, width), tables[0])](
        _weights(request.w1, experts * features if interleaved else experts * first_rows, first),
        _rows(codes1, first), scales1, slots, request.w1_scale.view(torch.uint8),
        request.w1 if request.bias1 is None else request.bias1, routing.weights,
        *first_table, slot_of_row,
        bases, apart1, codes2.view(torch.uint8), scales2, slots, apart2, hidden, features,
        *activation_numbers(request),
        ROWS=first.rows, TOKENS=first.tokens, LEAST=first.least, STAGES=first.stages,
        ALIGNED=hidden % STEP_COLUMNS == 0, WARPS=first.warps, OVERLAP=first.overlap,
        ACTIVATION=spec.name, GATED=spec.gated, INTERLEAVED=interleaved,
        LINEAR_BETA=spec.linear_beta is not None, BIAS=request.bias1 is not None, WEIGHTED=weighted_where(request),
        RULE=profile.mxfp4_scale_rule, SHORT=second_rounding_from(request),
        num_warps=first.warps, maxnreg=first.registers,
    )  # fmt: skip
    second_product[(triton.cdiv(hidden, second.rows * second.repeats), tables[1], second.parts)](
        _weights(request.w2, experts * hidden, second), _rows(codes2, second), scales2, slots,
        request.w2_scale.view(torch.uint8), request.w2 if request.bias2 is None else request.bias2, routing.weights,
        *second_table, slot_of_row,
        apart2, results, slots * hidden, features, hidden, second.parts, second.repeats,
        ROWS=second.rows, TOKENS=second.tokens, LEAST=second.least, STAGES=second.stages,
        ALIGNED=features % STEP_COLUMNS == 0, WARPS=second.warps, OVERLAP=second.overlap,
        BIAS=request.bias2 is not None, WEIGHTED=not request.doweight_stage1,
        num_warps=second.warps, maxnreg=second.registers,
    )  # fmt: skip
    sum_into(out, results, row_of_slot, request)
    return out


def _weights(stored: torch.Tensor, rows: int, tiles: Tiles) -> TensorDescriptor:
    matrix = stored.view(torch.uint8).view(rows, -1)
    layout = NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=2)
    return TensorDescriptor.from_tensor(matrix, [tiles.rows // 2, STEP_COLUMNS // 2], layout)


def _rows(codes: torch.Tensor, tiles: Tiles) -> TensorDescriptor:
    layout = NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=2)
    return TensorDescriptor.from_tensor(codes, [tiles.tokens, STEP_COLUMNS // 2], layout)
