"""What is the same for every call of a layer: checked once, and the numbers that the kernel needs.

Checking a request and reading its weights' layout takes a quarter of a small layer's time, and more where other
programs share the processor. All of it follows from names, shapes and strides, so a plan is found again by these.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import torch

from aiter_compat.backends.emulation.activation_qdq import sixteen_bit_dtype
from aiter_compat.backends.emulation.compiled.availability import refusals
from aiter_compat.backends.emulation.compiled.layer_call import CALL_FIELDS, PLAN_NUMBERS, LayerCall, LayerKernel
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


@dataclass(frozen=True, eq=False)
class LayerPlan:
    """How a layer is computed.

    Attributes:
        kernel: the compiled code.
        tokens: M.
        choices: k.
        experts: E.
        hidden: H.
        row_bytes: size of an activation row of the first and of the second product.
        result_row_bytes: size of a row of the result.
        read_as_is: whether the kernel reads all tensors of the call where they are: their dtypes are those that it
            knows, and what it reads as a whole (ids, routing weights, scales and biases) is contiguous.
        numbers: `PLAN_NUMBERS`, in memory that does not move.
    """

    kernel: LayerKernel
    tokens: int
    choices: int
    experts: int
    hidden: int
    row_bytes: tuple[int, int]
    result_row_bytes: int
    read_as_is: bool
    numbers: ctypes.Array[ctypes.c_char]
    address: int = field(init=False)
    """Of `numbers`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", ctypes.addressof(self.numbers))


_plans: dict[tuple[object, ...], LayerPlan] = {}
_latest: tuple[tuple[object, ...], LayerPlan] | None = None


def plan_of(request: EmulationRequest) -> LayerPlan:
    """The plan for a request, which is checked unless one of the same names, shapes, dtypes and strides was before.

    Raises:
        InvalidArgument: an argument that has no meaning.
        UnsupportedByEmulation: what the emulation, or its compiled path, does not serve.
    """
    global _latest  # noqa: PLW0603
    key = _key(request)
    latest = _latest
    if latest is not None and latest[0] == key:  # the layers of a model are alike; to compare is cheaper than to hash
        return latest[1]
    plan = _plans.get(key)
    if plan is None:
        plan = _new_plan(request)
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()  # numbers of tokens that come once and never again
        _plans[key] = plan
    _latest = key, plan
    return plan


def _key(request: EmulationRequest) -> tuple[object, ...]:
    """Everything about a request but values, addresses and num_local_tokens.

    What every request has is written out: after a layer's weights have gone through the caches each step of Python
    costs several times what it costs in a loop of its own.
    """
    hidden_states, w1, w2 = request.hidden_states, request.w1, request.w2
    weight, ids = request.topk_weight, request.topk_ids
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
        hidden_states.is_cpu,
        hidden_states.dtype,
        hidden_states.shape,
        hidden_states.stride(),
        w1.dtype,
        w1.shape,
        w1.stride(),
        w2.dtype,
        w2.shape,
        w2.stride(),
        weight.dtype,
        weight.shape,
        weight.stride(),
        ids.dtype,
        ids.shape,
        ids.stride(),
        *[
            None if tensor is None else (tensor.dtype, tensor.shape, tensor.stride())
            for tensor in (
                request.w1_scale,
                request.w2_scale,
                request.a1_scale,
                request.a2_scale,
                request.bias1,
                request.bias2,
                request.shared_w1,
                request.shared_w2,
                request.shared_w1_scale,
                request.shared_w2_scale,
            )
        ],
    )


def _new_plan(request: EmulationRequest) -> LayerPlan:
    check_request(request)
    reasons = refusals(request, request.weight_layout, request.qdq_first, request.qdq_second)
    if reasons:
        raise UnsupportedByEmulation(f"the compiled path does not serve this call: {'; '.join(reasons)}.")
    bank = open_bank(request)
    kernel = layer_kernel()
    as_is = _is_read_as_is(request)
    hidden_states = request.hidden_states
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
        "hidden_row_bytes": (hidden_states.stride(0) if as_is else bank.hidden) * hidden_states.element_size(),
        "hidden_kind": KINDS[hidden_states.dtype],
        "topk_id_bytes": 4 if request.topk_ids.dtype == torch.int32 else 8,
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
    in_order = (constants[name] for name in LayerCall._fields[CALL_FIELDS:])
    return LayerPlan(
        kernel=kernel,
        tokens=hidden_states.shape[0],
        choices=request.topk_ids.shape[1],
        experts=bank.experts,
        hidden=bank.hidden,
        row_bytes=(row_bytes(bank.hidden, first), row_bytes(bank.intermediate, second)),
        result_row_bytes=bank.hidden * request.out_dtype.itemsize,
        read_as_is=as_is,
        numbers=ctypes.create_string_buffer(PLAN_NUMBERS.pack(*in_order)),
    )


def _is_read_as_is(request: EmulationRequest) -> bool:
    ids, weight = request.topk_ids, request.topk_weight
    read = (ids, weight, request.w1_scale, request.w2_scale, request.bias1, request.bias2)
    return (
        request.hidden_states.stride(1) == 1
        and ids.dtype in (torch.int32, torch.int64)
        and weight.dtype == torch.float32
        and all(tensor is None or tensor.is_contiguous() for tensor in read)
    )


def row_bytes(columns: int, rounding: str) -> int:
    """As `kernels.block_rounding.row_bytes`: integers with a scale and a correction a block, or fp32."""
    return columns + columns // 4 if rounding == "mxfp4" else 4 * columns


def _kind(bias: torch.Tensor | None) -> int:
    return _NONE if bias is None else KINDS[bias.dtype]


def _as_fp32(number: float) -> float:
    return ctypes.c_float(number).value
