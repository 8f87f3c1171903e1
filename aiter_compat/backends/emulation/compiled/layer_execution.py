"""From a request to the layer kernel and back: addresses, codes of the choices, scratch, threads."""

from __future__ import annotations

import ctypes

import torch

from aiter_compat.backends.emulation.activation_qdq import sixteen_bit_dtype
from aiter_compat.backends.emulation.compiled.helpers import HELPERS
from aiter_compat.backends.emulation.compiled.layer_call import SHARED_WORDS, LayerCall, LayerKernel
from aiter_compat.backends.emulation.compiled.loading import layer_kernel
from aiter_compat.backends.emulation.compiled.token_pieces import tokens_at_once
from aiter_compat.backends.emulation.expert_bank import ExpertBank
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.routing import local_numbers

# These mirror the constants of `kernels.number_formats`, `kernels.block_rounding` and `kernels.activation_math`, which
# cannot be imported without numba; a test compares them.
KINDS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
RULES = {"floor": 0, "nearest": 1, "even": 2, "even_or_nan": 3, "even_or_largest": 4, "rceil": 5, "ceil": 6}
ROUNDINGS = {"mxfp4": 0, "mxfp8": 1, "none": 2}
ACTIVATIONS = {"silu": 0, "gelu": 1, "gelu_tanh": 2, "relu2": 3, "swiglu": 4, "swiglustep": 5, "situv2": 6}
_NONE = 0
_CACHE_LINE = 64
_FP32 = KINDS[torch.float32]


def moe_compiled(request: EmulationRequest, bank: ExpertBank, tokens: int) -> torch.Tensor:
    """Compute the MoE of the first `tokens` tokens.

    Args:
        request: a checked request that `availability.refusals` has nothing against.
        bank: its weights.
        tokens: how many rows of hidden_states count.

    Returns:
        [tokens, H] of `request.out_dtype`.
    """
    result = torch.empty(tokens, bank.hidden, dtype=request.out_dtype)
    piece = tokens_at_once(bank.hidden, request.topk_ids.shape[1])
    kernel = layer_kernel()
    for start in range(0, tokens, piece):
        call = _PreparedCall(kernel, request, bank, result, slice(start, min(start + piece, tokens)))
        helpers = torch.get_num_threads() - 1
        if helpers > 0:
            HELPERS.offer(lambda call=call: kernel.run(call.numbers), helpers)  # type: ignore[misc]
        kernel.run(call.numbers)
    return result


class _PreparedCall:
    """The numbers for the kernel, and the tensors that keep their addresses alive."""

    def __init__(
        self, kernel: LayerKernel, request: EmulationRequest, bank: ExpertBank, result: torch.Tensor, span: slice
    ) -> None:
        self._kept: list[torch.Tensor] = []
        hidden_states, ids, weight = (
            _rows(tensor, span) for tensor in (request.hidden_states, request.topk_ids, request.topk_weight)
        )
        if hidden_states.stride(1) != 1:
            hidden_states = hidden_states.contiguous()
        if ids.dtype not in (torch.int32, torch.int64):
            ids = ids.long()
        tokens, choices = ids.shape
        local = None if request.expert_mask is None else local_numbers(request.expert_mask, bank.experts)
        short = KINDS[sixteen_bit_dtype(request)]
        spec, profile = request.activation, request.profile
        interleaved = request.gate_rows == "interleaved"
        slots, experts = tokens * choices, bank.experts
        rules = {"mxfp4": RULES[profile.mxfp4_scale_rule], "mxfp8": RULES[profile.mxfp8_scale_rule], "none": _NONE}
        first, second = request.qdq_first, request.qdq_second
        scratch = _Scratch(
            rows1=tokens * _row_bytes(bank.hidden, first),
            rows2=slots * _row_bytes(bank.intermediate, second),
            results=slots * bank.hidden * 4,
            order=slots * 8,
            position=slots * 8,
            bounds=experts * 8 + 8,
            occurring=experts * 8,
        )
        self._kept.append(scratch.memory)
        self.numbers = LayerCall(
            tokens=tokens,
            choices=choices,
            experts=experts,
            hidden=bank.hidden,
            intermediate=bank.intermediate,
            hidden_states=self._address(hidden_states),
            hidden_kind=KINDS[hidden_states.dtype],
            hidden_row_bytes=hidden_states.stride(0) * hidden_states.element_size(),
            topk_ids=self._address(ids.contiguous()),
            topk_id_bytes=ids.element_size(),
            topk_weights=self._address(weight.detach().float().contiguous()),
            local_of_global=0 if local is None else self._address(local),
            global_experts=0 if local is None else local.numel(),
            skip_zero_weights=int(request.zero_weight_rule),
            w1=self._address(request.w1),
            w1_expert_bytes=request.w1.stride(0),
            w1_row_bytes=request.w1.stride(1),
            w1_scale=self._address_or_0(request.w1_scale),
            w2=self._address(request.w2),
            w2_expert_bytes=request.w2.stride(0),
            w2_row_bytes=request.w2.stride(1),
            w2_scale=self._address_or_0(request.w2_scale),
            bias1=self._address_or_0(request.bias1),
            bias1_kind=_kind(request.bias1),
            bias2=self._address_or_0(request.bias2),
            bias2_kind=_kind(request.bias2),
            gated=int(spec.gated),
            gate_row_step=2 if interleaved else 1,
            first_up_row=1 if interleaved else bank.intermediate,
            activation=ACTIVATIONS[spec.name],
            alpha=_as_fp32(spec.alpha),
            beta=_as_fp32(spec.beta),
            limit=float("inf") if spec.limit is None else _as_fp32(spec.limit),
            linear_beta=0.0 if spec.linear_beta is None else _as_fp32(spec.linear_beta),
            weight_before_bias=int(request.doweight_stage1 and profile.doweight_stage1 == "before_bias"),
            weight_after_activation=int(request.doweight_stage1 and profile.doweight_stage1 == "after_activation"),
            weight_in_stage2=int(not request.doweight_stage1),
            rounding1=ROUNDINGS[first],
            rule1=rules[first],
            rounding2=ROUNDINGS[second],
            rule2=rules[second],
            amax_floor=profile.block_amax_floor,
            activated_kind=short if profile.second_qdq_from == "bf16" else _FP32,
            slot_kind=short if profile.slot_rounding == "bf16" else _FP32,
            sum_kind=short if profile.slot_sum == "bf16" else _FP32,
            out=result.data_ptr() + span.start * bank.hidden * result.element_size(),
            out_kind=KINDS[result.dtype],
            multiply_tile=kernel.multiply_tile,
            store_block=kernel.store_block,
            activate=kernel.activate,
            shared=self._address(torch.zeros(SHARED_WORDS, dtype=torch.int64)),
            **scratch.addresses,
        )

    def _address(self, tensor: torch.Tensor) -> int:
        self._kept.append(tensor)
        return tensor.data_ptr()

    def _address_or_0(self, tensor: torch.Tensor | None) -> int:
        return 0 if tensor is None else self._address(tensor.contiguous())


class _Scratch:
    """One piece of memory for all that the kernel writes on the way, since each allocation takes microseconds."""

    def __init__(self, **sizes: int) -> None:
        starts, end = {}, 0
        for name, size in sizes.items():
            starts[name] = end
            end += -(-size // _CACHE_LINE) * _CACHE_LINE
        self.memory = torch.empty(end + _CACHE_LINE, dtype=torch.uint8)
        base = -(-self.memory.data_ptr() // _CACHE_LINE) * _CACHE_LINE
        self.addresses = {name: base + start for name, start in starts.items()}


def _rows(tensor: torch.Tensor, span: slice) -> torch.Tensor:
    return tensor if span.stop - span.start == tensor.shape[0] else tensor[span]


def _row_bytes(columns: int, rounding: str) -> int:
    """As `kernels.block_rounding.row_bytes`: integers with a scale and a correction a block, or fp32."""
    return columns + columns // 4 if rounding == "mxfp4" else 4 * columns


def _kind(bias: torch.Tensor | None) -> int:
    return _NONE if bias is None else KINDS[bias.dtype]


def _as_fp32(number: float) -> float:
    return ctypes.c_float(number).value
