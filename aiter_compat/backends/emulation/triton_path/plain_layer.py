"""A whole MX layer in plain Triton kernels, for any GPU that Triton serves. Nothing waits for the device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
import triton

from aiter_compat.backends.emulation.expert_bank import ExpertBank, open_bank
from aiter_compat.backends.emulation.expert_matrices import MX_BLOCK, ExpertMatrices
from aiter_compat.backends.emulation.first_operand import first_operand, is_quantised
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.triton_path.between_products import (
    activation_numbers,
    scale_bytes,
    second_rounding_from,
    sum_into,
    weighted_where,
)
from aiter_compat.backends.emulation.triton_path.kernels.plain_products import plain_first_product, plain_second_product
from aiter_compat.backends.emulation.triton_path.kernels.plain_rows import plain_token_rows
from aiter_compat.backends.emulation.triton_path.scale_rules import scale_rule
from aiter_compat.backends.emulation.triton_path.slot_placement import Placement, Routing, place_slots, routing_of
from aiter_compat.backends.emulation.triton_path.tile_choice import PlainTiles, plain_tiles_for

_STEP = 128
_SCALE_COLUMNS = 8  # that shuffled scales are padded to
_TERMS = {torch.bfloat16: 1, torch.float16: 2, torch.float32: 3}
"""bf16 terms that add up to any number of a dtype."""
_SHORT_TERMS = {"bf16": 1, "fp16": 2, "fp32": 3}
_NO_ID = torch.iinfo(torch.int32).min


def run_plain(request: EmulationRequest, tiles: tuple[PlainTiles, PlainTiles] | None = None) -> torch.Tensor:
    """Compute the MoE of a request that `availability.triton_refusals` has nothing against.

    Args:
        request: the call.
        tiles: of both products, in place of the rule's.

    Returns:
        [M, H] of `request.out_dtype`.
    """
    if request.shared_w1 is not None and request.shared_expert_id < 0:
        request = _with_a_choice_more(request)
    bank = open_bank(request)
    tokens, slots = request.topk_ids.shape[0], request.topk_ids.numel()
    device = request.hidden_states.device
    out = torch.empty(tokens, bank.hidden, dtype=request.out_dtype, device=device)
    if slots == 0:
        return out.zero_()
    terms = _first_terms(request), _second_terms(request)
    first, second = tiles or plain_tiles_for(slots, bank.experts, terms, _shared_memory(device))
    routing = routing_of(request)
    placement = place_slots(request, routing, (first.tokens, second.tokens))
    rows = _token_rows(request, bank.hidden)
    between = _first_product(request, bank, routing, placement, rows, first)
    results = torch.empty(1, slots, bank.hidden, dtype=torch.float32, device=device)
    _second_product(request, bank, routing, placement, between, results, second)
    sum_into(out, results, placement.row_of_slot, request)
    return out


@dataclass(frozen=True, eq=False)
class _Part:
    """What a kernel is told about the matrices of the experts from `first_expert` on."""

    first_expert: int
    matrices: ExpertMatrices
    bias: torch.Tensor | None

    @property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Weights, scales, bias; the weights in place of a bias that there is not."""
        stored = self.matrices.stored.view(torch.uint8)
        return stored, scale_bytes(self.matrices.scale), stored if self.bias is None else self.bias

    @property
    def experts(self) -> tuple[int, int]:
        """The first, and the one after the last."""
        return self.first_expert, self.first_expert + self.matrices.experts

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Bytes of a row, blocks of a row, stored blocks of a row, scales of an expert."""
        blocks = self.matrices.columns // MX_BLOCK
        kept = blocks if self._logical else triton.cdiv(blocks, _SCALE_COLUMNS) * _SCALE_COLUMNS
        return self.matrices.stored.shape[2], blocks, kept, self.matrices.rows * kept

    @property
    def options(self) -> dict[str, Any]:
        """What a kernel is compiled for."""
        return {
            "STEPS": triton.cdiv(self.matrices.columns, _STEP),
            "FORMAT": self.matrices.weight_format,
            "WORD_BYTES": 8 // self.matrices.per_byte,
            "ALIGNED": self._logical and self.matrices.columns // MX_BLOCK % 4 == 0,
            "LAYOUT": self.matrices.layout,
            "BIAS": self.bias is not None,
        }

    @property
    def _logical(self) -> bool:
        return self.matrices.layout == "logical"


def _parts(routed: ExpertMatrices, shared: ExpertMatrices | None, bias: torch.Tensor | None) -> Iterator[_Part]:
    """The routed experts, and the shared one in a launch of its own: its matrices are other tensors."""
    yield _Part(0, routed, bias)
    if shared is not None:
        yield _Part(routed.experts, shared, None)


def _with_a_choice_more(request: EmulationRequest) -> EmulationRequest:
    """The request with the shared expert as one more choice of every token."""
    ids, weights = request.topk_ids, request.topk_weight.float()
    shape = (ids.shape[0], 1)
    return replace(
        request,
        topk_ids=torch.cat([ids.long(), ids.new_full(shape, _NO_ID, dtype=torch.int64)], dim=1),
        topk_weight=torch.cat([weights, weights.new_ones(shape)], dim=1),
        shared_expert_id=_NO_ID,
    )


def _first_terms(request: EmulationRequest) -> int:
    """bf16 terms of what the first product reads: tokens as they come, or codes as decoded, in fp32."""
    if is_quantised(request.hidden_states):
        return _TERMS[torch.float32]
    return _TERMS[request.hidden_states.dtype] if request.qdq_first == "none" else 1


def _second_terms(request: EmulationRequest) -> int:
    """The same of the second product."""
    return _SHORT_TERMS[second_rounding_from(request)] if request.qdq_second == "none" else 1


@cache
def _shared_memory(device: torch.device) -> int | None:
    """Bytes of shared memory that a program may have; None where the kernels are interpreted."""
    if device.type == "cpu":
        return None
    return int(triton.runtime.driver.active.utils.get_device_properties(device.index)["max_shared_mem"])


def _token_rows(request: EmulationRequest, hidden: int) -> torch.Tensor:
    """bf16 [terms, M, H up to a whole step]: the first operand in the order of planes."""
    values, rounding, terms = request.hidden_states, request.qdq_first, _first_terms(request)
    if is_quantised(values):
        values, rounding = first_operand(request, values.shape[0]), "none"
    tokens, columns = values.shape[0], triton.cdiv(hidden, _STEP) * _STEP
    rows = torch.empty(terms, tokens, columns, dtype=torch.bfloat16, device=values.device)
    plain_token_rows[(tokens,)](
        values, values.stride(0), rows, rows.stride(0), hidden, columns, request.profile.block_amax_floor,
        BLOCKS=triton.next_power_of_2(columns // MX_BLOCK), TERMS=terms, ROUNDING=rounding,
        RULE=scale_rule(rounding, request.profile), num_warps=8 if hidden > 4096 else 4,
    )  # fmt: skip
    return rows


def _first_product(
    request: EmulationRequest,
    bank: ExpertBank,
    routing: Routing,
    placement: Placement,
    rows: torch.Tensor,
    tiles: PlainTiles,
) -> torch.Tensor:
    """bf16 [terms, slots, I up to a whole step]: the second operand, by row."""
    spec, rounding, terms = request.activation, request.qdq_second, _second_terms(request)
    slots, columns = routing.ids.numel(), triton.cdiv(bank.intermediate, _STEP) * _STEP
    between = torch.empty(terms, slots, columns, dtype=torch.bfloat16, device=rows.device)
    width = tiles.rows // 2 if spec.gated else tiles.rows
    for part in _parts(bank.routed[0], bank.shared and bank.shared[0], request.bias1):
        plain_first_product[(triton.cdiv(columns, width), placement.first_tiles[0].numel())](
            *part.tensors, routing.weights, *placement.first_tiles, placement.slot_of_row,
            rows, rows.stride(1), rows.stride(0), between, between.stride(1), between.stride(0),
            *part.experts, part.matrices.rows, *part.sizes, bank.intermediate, routing.ids.shape[1],
            *activation_numbers(request),
            ROWS=tiles.rows, TOKENS=tiles.tokens, TERMS=rows.shape[0], RESULT_TERMS=terms, **part.options,
            ACTIVATION=spec.name, GATED=spec.gated, INTERLEAVED=request.gate_rows == "interleaved",
            LINEAR_BETA=spec.linear_beta is not None, WEIGHTED=weighted_where(request),
            ROUNDING=rounding, RULE=scale_rule(rounding, request.profile),
            SHORT=second_rounding_from(request),
            num_warps=tiles.warps, num_stages=tiles.stages,
        )  # fmt: skip
    return between


def _second_product(
    request: EmulationRequest,
    bank: ExpertBank,
    routing: Routing,
    placement: Placement,
    between: torch.Tensor,
    results: torch.Tensor,
    tiles: PlainTiles,
) -> None:
    for part in _parts(bank.routed[1], bank.shared and bank.shared[1], request.bias2):
        plain_second_product[(triton.cdiv(bank.hidden, tiles.rows), placement.second_tiles[0].numel())](
            *part.tensors, routing.weights, *placement.second_tiles, placement.slot_of_row,
            between, between.stride(1), between.stride(0), results, *part.experts, *part.sizes, bank.hidden,
            ROWS=tiles.rows, TOKENS=tiles.tokens, TERMS=between.shape[0], **part.options,
            WEIGHTED=not request.doweight_stage1, num_warps=tiles.warps, num_stages=tiles.stages,
        )  # fmt: skip
