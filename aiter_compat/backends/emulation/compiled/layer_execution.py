"""From a request to the layer kernel and back: addresses, scratch, threads."""

from __future__ import annotations

import ctypes

import torch

from aiter_compat.backends.emulation.compiled.helpers import HELPERS
from aiter_compat.backends.emulation.compiled.layer_call import SHARED_WORDS, LayerCall
from aiter_compat.backends.emulation.compiled.layer_plan import LayerPlan
from aiter_compat.backends.emulation.compiled.token_pieces import tokens_at_once
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.routing import local_numbers

_CACHE_LINE = 64


def moe_compiled(request: EmulationRequest, plan: LayerPlan, tokens: int) -> torch.Tensor:
    """Compute the MoE of the first `tokens` tokens.

    Args:
        request: the call.
        plan: `plan_of` it.
        tokens: how many rows of hidden_states count.

    Returns:
        [tokens, H] of `request.out_dtype`.
    """
    result = torch.empty(tokens, plan.hidden, dtype=request.out_dtype)
    piece = tokens_at_once(plan.hidden, request.topk_ids.shape[1])
    run = plan.kernel.run
    for start in range(0, tokens, piece):
        call = _PreparedCall(plan, request, result, slice(start, min(start + piece, tokens)))
        helpers = torch.get_num_threads() - 1
        if helpers > 0:
            HELPERS.offer(lambda call=call: run(call.numbers), helpers)  # type: ignore[misc]
        run(call.numbers)
    return result


class _PreparedCall:
    """The numbers for the kernel, and the tensors that keep their addresses alive."""

    def __init__(self, plan: LayerPlan, request: EmulationRequest, result: torch.Tensor, span: slice) -> None:
        hidden_states, ids, weight = (
            _rows(tensor, span) for tensor in (request.hidden_states, request.topk_ids, request.topk_weight)
        )
        if hidden_states.stride(1) != 1:
            hidden_states = hidden_states.contiguous()
        if ids.dtype not in (torch.int32, torch.int64):
            ids = ids.long()
        if weight.dtype != torch.float32:
            weight = weight.float()
        tokens, choices = ids.shape
        slots, experts = tokens * choices, plan.experts
        local = None if request.expert_mask is None else local_numbers(request.expert_mask, experts)
        of_weights = (request.w1_scale, request.w2_scale, request.bias1, request.bias2)
        read: tuple[torch.Tensor | None, ...] = (ids, weight, local, *of_weights)
        if not plan.contiguous:
            read = tuple(None if tensor is None else tensor.contiguous() for tensor in read)
        addresses = [0 if tensor is None else tensor.data_ptr() for tensor in read]
        rows1, rows2 = plan.row_bytes
        memory, scratch = _scratch(
            8 * SHARED_WORDS,
            tokens * rows1,
            slots * rows2,
            slots * plan.hidden * 4,
            slots * 8,
            slots * 8,
            experts * 8 + 8,
            experts * 8,
        )
        ctypes.memset(scratch[0], 0, 8 * SHARED_WORDS)
        self.memory = memory
        self._kept = (request, result, hidden_states, read)
        self.numbers = LayerCall(
            tokens,
            hidden_states.data_ptr(),
            hidden_states.stride(0) * hidden_states.element_size(),
            addresses[0],
            ids.element_size(),
            addresses[1],
            addresses[2],
            0 if local is None else local.numel(),
            request.w1.data_ptr(),
            addresses[3],
            request.w2.data_ptr(),
            addresses[4],
            addresses[5],
            addresses[6],
            result.data_ptr() + span.start * plan.hidden * result.element_size(),
            *scratch,
            *plan.constants,
        )


def _scratch(*sizes: int) -> tuple[torch.Tensor, list[int]]:
    """One piece of memory for all that the kernel writes on the way, since each allocation takes microseconds.

    Returns:
        The memory, and the addresses of its parts, each at the start of a cache line.
    """
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // _CACHE_LINE) * _CACHE_LINE
    memory = torch.empty(end + _CACHE_LINE, dtype=torch.uint8)
    base = -(-memory.data_ptr() // _CACHE_LINE) * _CACHE_LINE
    return memory, [base + start for start in starts]


def _rows(tensor: torch.Tensor, span: slice) -> torch.Tensor:
    return tensor if span.stop - span.start == tensor.shape[0] else tensor[span]
