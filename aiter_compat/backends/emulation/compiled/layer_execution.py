"""From a request to the layer kernel and back: addresses, scratch, threads."""

from __future__ import annotations

from functools import lru_cache

import torch

from aiter_compat.backends.emulation.compiled.call_memory import CallMemory
from aiter_compat.backends.emulation.compiled.helpers import HELPERS
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
    piece = tokens_at_once(plan.hidden, plan.choices)
    for start in range(0, tokens, piece):
        call = _PreparedCall(plan, request, result, start, min(start + piece, tokens))
        helpers = torch.get_num_threads() - 1
        if helpers > 0:
            HELPERS.offer(call.run, helpers)
        call.run()
    return result


class _PreparedCall:
    """The numbers for the kernel, in memory, and what keeps their addresses alive."""

    __slots__ = ("_kept", "memory", "plan")

    def __init__(self, plan: LayerPlan, request: EmulationRequest, result: torch.Tensor, start: int, stop: int) -> None:
        hidden_states, ids, weight = request.hidden_states, request.topk_ids, request.topk_weight
        scale1, scale2, bias1, bias2 = request.w1_scale, request.w2_scale, request.bias1, request.bias2
        w1, w2, tokens = request.w1, request.w2, stop - start
        if tokens != plan.tokens:
            hidden_states, ids, weight = (tensor[start:stop] for tensor in (hidden_states, ids, weight))
        if not plan.read_as_is:
            hidden_states, ids, weight = hidden_states.contiguous(), _whole_numbers(ids), weight.float().contiguous()
            scale1, scale2, bias1, bias2 = (
                None if tensor is None else tensor.contiguous() for tensor in (scale1, scale2, bias1, bias2)
            )
        local = None if request.expert_mask is None else local_numbers(request.expert_mask, plan.experts)
        size, parts = _scratch_parts(plan, tokens)
        memory = CallMemory(size)
        scratch = memory.scratch
        memory.write_numbers(
            tokens,
            hidden_states.data_ptr(),
            ids.data_ptr(),
            weight.data_ptr(),
            _address(local),
            0 if local is None else local.numel(),
            w1.data_ptr(),
            _address(scale1),
            w2.data_ptr(),
            _address(scale2),
            _address(bias1),
            _address(bias2),
            result.data_ptr() + start * plan.result_row_bytes,
            memory.numbers,
            *[scratch + part for part in parts],
        )
        self.memory = memory
        self.plan = plan
        # the call's own tensors too: whoever made the request may give it up before the last thread is done
        self._kept = (request, result, hidden_states, ids, weight, local, scale1, scale2, bias1, bias2)

    def run(self) -> None:
        """Take part in computing it."""
        self.plan.kernel.run(self.memory.numbers, self.plan.address)


def _address(tensor: torch.Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _whole_numbers(ids: torch.Tensor) -> torch.Tensor:
    return (ids if ids.dtype in (torch.int32, torch.int64) else ids.long()).contiguous()


@lru_cache(maxsize=256)
def _scratch_parts(plan: LayerPlan, tokens: int) -> tuple[int, tuple[int, ...]]:
    """How much scratch a call takes, and where its parts begin: the fields of `LayerCall` from rows1 on.

    Each part begins a cache line.
    """
    slots, experts = tokens * plan.choices, plan.experts
    rows1, rows2 = plan.row_bytes
    starts, end = [], 0
    for size in (
        tokens * rows1,
        slots * rows2,
        slots * plan.hidden * 4,
        slots * 8,
        slots * 8,
        experts * 8 + 8,
        experts * 8,
    ):
        starts.append(end)
        end += -(-size // _CACHE_LINE) * _CACHE_LINE
    return end, tuple(starts)
