"""What is the same for every call of a layer: checked once, and the numbers that the kernel needs.

Checking a request and reading its weights' layout takes a quarter of a small layer's time, and more where other
programs share the processor. All of it follows from names, shapes and strides, so a plan is found again by these.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TypeAlias

import torch

from aiter_compat.backends.emulation.activation_qdq import sixteen_bit_dtype
from aiter_compat.backends.emulation.compiled.availability import refusals
from aiter_compat.backends.emulation.compiled.layer_call import LayerCall, LayerKernel
from aiter_compat.backends.emulation.compiled.loading import layer_kernel
from aiter_compat.backends.emulation.expert_bank import open_bank
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.request_checks import check_request
from aiter_compat.errors import UnsupportedByEmulation

# These mirror the constants of `kernels.number_formats`, `kernels.block_rounding` and `kernels.activation_math`, which
# cannot be imported without numba; a test compares them.
KINDS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
RULES = {"floor": 0, "nearest": 1, "even": 2, "even_or_nan": 3, "even_or_largest": 4, "rceil": 5, "ceil": 6}
ROUNDINGS = {"mxfp4": 0, "mxfp8": 1, "none": 2}
ACTIVATIONS = {"silu": 0, "gelu": 1, "gelu_tanh": 2, "relu2": 3, "swiglu": 4, "swiglustep": 5, "situv2": 6}
_NONE = 0
_FP32 = KINDS[torch.float32]
_MOST_PLANS = 1024
_Metadata: TypeAlias = tuple[object, ...] | None


@dataclass(frozen=True, eq=False)
class LayerPlan:
    """How a layer is computed.

    Attributes:
        kernel: the compiled code.
        experts: E.
        hidden: H.
        row_bytes: size of an activation row of the first and of the second product.
        contiguous: whether all that the kernel reads as a whole is: ids, routing weights, scales and biases.
        constants: the fields of `LayerCall` that are the same for all calls, in their order.
    """

    kernel: LayerKernel
    experts: int
    hidden: int
    row_bytes: tuple[int, int]
    contiguous: bool
    constants: tuple[int | float, ...]


_plans: dict[tuple[object, ...], LayerPlan] = {}


def plan_of(request: EmulationRequest) -> LayerPlan:
    """The plan for a request, which is checked unless one of the same names, shapes, dtypes and strides was before.

    Raises:
        InvalidArgument: an argument that has no meaning.
        UnsupportedByEmulation: what the emulation, or its compiled path, does not serve.
    """
    key = _key(request)
    plan = _plans.get(key)
    if plan is None:
        plan = _new_plan(request)
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()  # numbers of tokens that come once and never again
        _plans[key] = plan
    return plan


def _key(request: EmulationRequest) -> tuple[object, ...]:
    """Everything about a request but values, addresses and num_local_tokens."""
    return (
        request.activation,
        request.profile,
        request.quant_type,
        request.weight_format,
        request.qdq_first,
        request.qdq_second,
        request.out_dtype,
        request.weight_layout,
        request.gate_rows,
        request.doweight_stage1,
        request.zero_weight_rule,
        request.shared_weight_format,
        request.shared_expert_id,
        request.hidden_states.device.type,
        _metadata(request.hidden_states),
        _metadata(request.w1),
        _metadata(request.w2),
        _metadata(request.topk_weight),
        _metadata(request.topk_ids),
        _metadata(request.w1_scale),
        _metadata(request.w2_scale),
        _metadata(request.a1_scale),
        _metadata(request.a2_scale),
        _metadata(request.bias1),
        _metadata(request.bias2),
        _metadata(request.shared_w1),
        _metadata(request.shared_w2),
        _metadata(request.shared_w1_scale),
        _metadata(request.shared_w2_scale),
    )


def _metadata(tensor: torch.Tensor | None) -> _Metadata:
    return None if tensor is None else (tensor.dtype, tensor.shape, tensor.stride())


def _new_plan(request: EmulationRequest) -> LayerPlan:
    check_request(request)
    reasons = refusals(request, request.weight_layout, request.qdq_first, request.qdq_second)
    if reasons:
        raise UnsupportedByEmulation(f"the compiled path does not serve this call: {'; '.join(reasons)}.")
    bank = open_bank(request)
    kernel = layer_kernel()
    read = (request.topk_ids, request.topk_weight, request.w1_scale, request.w2_scale, request.bias1, request.bias2)
    short = KINDS[sixteen_bit_dtype(request)]
    spec, profile = request.activation, request.profile
    interleaved = request.gate_rows == "interleaved"
    rules = {"mxfp4": RULES[profile.mxfp4_scale_rule], "mxfp8": RULES[profile.mxfp8_scale_rule], "none": _NONE}
    first, second = request.qdq_first, request.qdq_second
    constants = {
        "choices": request.topk_ids.shape[1],
        "experts": bank.experts,
        "hidden": bank.hidden,
        "intermediate": bank.intermediate,
        "hidden_kind": KINDS[request.hidden_states.dtype],
        "skip_zero_weights": int(request.zero_weight_rule),
        "w1_expert_bytes": request.w1.stride(0),
        "w1_row_bytes": request.w1.stride(1),
        "w2_expert_bytes": request.w2.stride(0),
        "w2_row_bytes": request.w2.stride(1),
        "bias1_kind": _kind(request.bias1),
        "bias2_kind": _kind(request.bias2),
        "gated": int(spec.gated),
        "gate_row_step": 2 if interleaved else 1,
        "first_up_row": 1 if interleaved else bank.intermediate,
        "activation": ACTIVATIONS[spec.name],
        "alpha": _as_fp32(spec.alpha),
        "beta": _as_fp32(spec.beta),
        "limit": float("inf") if spec.limit is None else _as_fp32(spec.limit),
        "linear_beta": 0.0 if spec.linear_beta is None else _as_fp32(spec.linear_beta),
        "weight_before_bias": int(request.doweight_stage1 and profile.doweight_stage1 == "before_bias"),
        "weight_after_activation": int(request.doweight_stage1 and profile.doweight_stage1 == "after_activation"),
        "weight_in_stage2": int(not request.doweight_stage1),
        "rounding1": ROUNDINGS[first],
        "rule1": rules[first],
        "rounding2": ROUNDINGS[second],
        "rule2": rules[second],
        "amax_floor": profile.block_amax_floor,
        "activated_kind": short if profile.second_qdq_from == "bf16" else _FP32,
        "slot_kind": short if profile.slot_rounding == "bf16" else _FP32,
        "sum_kind": short if profile.slot_sum == "bf16" else _FP32,
        "out_kind": KINDS[request.out_dtype],
        "multiply_tile": kernel.multiply_tile,
        "store_block": kernel.store_block,
        "activate": kernel.activate,
    }
    return LayerPlan(
        kernel=kernel,
        experts=bank.experts,
        hidden=bank.hidden,
        row_bytes=(row_bytes(bank.hidden, first), row_bytes(bank.intermediate, second)),
        contiguous=all(tensor is None or tensor.is_contiguous() for tensor in read),
        constants=tuple(constants[name] for name in LayerCall._fields[-len(constants) :]),
    )


def row_bytes(columns: int, rounding: str) -> int:
    """As `kernels.block_rounding.row_bytes`: integers with a scale and a correction a block, or fp32."""
    return columns + columns // 4 if rounding == "mxfp4" else 4 * columns


def _kind(bias: torch.Tensor | None) -> int:
    return _NONE if bias is None else KINDS[bias.dtype]


def _as_fp32(number: float) -> float:
    return ctypes.c_float(number).value
