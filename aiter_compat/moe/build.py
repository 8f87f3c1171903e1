"""From the arguments of `fused_moe` to a checked `MoECall`."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch

from aiter_compat.backends.moe_call import ActivationNumbers, MoECall
from aiter_compat.enums.names import activation_name, gate_mode_name, quant_type_name
from aiter_compat.errors import InvalidArgument
from aiter_compat.layer_config.config import ACTIVATION_FORMATS
from aiter_compat.moe.checks import FLOATING, FP8, MX_BLOCK, PACKED_FP4, check_call, need_dtype, need_tensor
from aiter_compat.moe.numbers import activation_numbers
from aiter_compat.moe.stored_formats import stored_format
from aiter_compat.moe.value_checks import check_mask_values, check_values
from aiter_compat.profiles import NumericsProfile
from aiter_compat.settings import settings

BACKENDS = ("auto", "aiter", "emulation", "torch", "triton", "compiled")
WEIGHT_LAYOUTS = ("auto", "logical", "shuffle_16x16", "a16w4")
QDQ_CHOICES = ("as_aiter", "none", *ACTIVATION_FORMATS)


def build_call(  # noqa: D417 - the others are documented at `fused_moe`
    hidden_states: Any,
    w1: Any,
    w2: Any,
    topk_weight: Any,
    topk_ids: Any,
    *,
    activation: Any,
    quant_type: Any,
    gate_mode: Any,
    swiglu_limit: float | None,
    beta: float | None,
    linear_beta: float | None,
    dtype: torch.dtype | None,
    hidden_pad: Any,
    intermediate_pad: Any,
    block_size_M: int | None,  # noqa: N803 - AITER's name
    activation_qdq: str,
    weight_layout: str,
    backend: str,
    numerics: NumericsProfile | str | None,
    numbers: ActivationNumbers | None = None,
    weight_format: str | None = None,
    qdq_is_binding: bool | None = None,
    **rest: Any,
) -> MoECall:
    """Check the arguments, named as in `fused_moe`, and put them into canonical names.

    Args:
        numbers: the activation when the host-level call knows it already; else made from `activation`.
        weight_format: stored format of the weights when the host-level call knows it; else read from the dtype.
        qdq_is_binding: whether another activation format rules AITER out; None: when one was named.
        **rest: fields of `MoECall` taken as they are.

    Raises:
        InvalidArgument: the first argument that does not fit.
    """
    quant = quant_type_name(quant_type)
    stored = weight_format or stored_format("w1", w1, quant, rest.get("w1_scale"))
    per_byte = 2 if stored in ("mxfp4", "int4") else 1
    hidden_states = need_tensor("hidden_states", hidden_states, 2, "[tokens, hidden]")
    w1 = need_tensor("w1", w1, 3, "[experts, 2 * intermediate, hidden]")
    w2 = need_tensor("w2", w2, 3, "[experts, hidden, intermediate]")
    need_tensor("topk_weight", topk_weight, 2, "[tokens, top_k]")
    need_tensor("topk_ids", topk_ids, 2, "[tokens, top_k]")
    sizes = _sizes(hidden_states, w1, w2, per_byte, quant)
    gated = _is_gated(w1, sizes["intermediate"])
    if numbers is None:
        numbers = activation_numbers(
            activation_name(activation), gated=gated, limit=swiglu_limit, beta=beta, linear_beta=linear_beta
        )
    elif numbers.gated != gated:
        raise InvalidArgument(
            "w1", str(list(w1.shape)), f"{'two halves' if numbers.gated else 'one half'} for this activation"
        )
    call = MoECall(
        hidden_states=hidden_states,
        w1=w1,
        w2=w2,
        topk_weight=_fp32_weights(topk_weight),
        topk_ids=_int32_ids(topk_ids),
        activation=numbers,
        quant_type=quant,
        weight_format=stored,
        gate_mode=gate_mode_name(gate_mode),
        dtype=_output_dtype(dtype, hidden_states),
        hidden_pad=_whole("hidden_pad", hidden_pad),
        intermediate_pad=_whole("intermediate_pad", intermediate_pad),
        block_size_m=block_size_M,
        activation_qdq=_choice("activation_qdq", activation_qdq, QDQ_CHOICES),
        weight_layout=_choice("weight_layout", weight_layout, WEIGHT_LAYOUTS),
        backend=_choice("backend", backend, BACKENDS),
        numerics=numerics,
        qdq_is_binding=activation_qdq != "as_aiter" if qdq_is_binding is None else qdq_is_binding,
        marked_shuffled=bool(getattr(w1, "is_shuffled", False) or getattr(w2, "is_shuffled", False)),
        **sizes,
        **rest,
    )
    check(call)
    return call


def check(call: MoECall) -> None:
    """Apply the checks that the settings ask for."""
    level = settings().checks
    if level == "off":
        return
    check_call(call)
    if level == "debug":
        check_values(call)
    elif call.expert_mask is not None and call.expert_mask.device.type == "cpu":
        check_mask_values(call.expert_mask, call.experts)  # reading a mask on the CPU synchronises nothing


def _sizes(
    hidden_states: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, per_byte: int, quant: str
) -> Mapping[str, Any]:
    hidden_dtypes = (*FLOATING, *FP8, *PACKED_FP4)
    need_dtype("hidden_states", hidden_states, hidden_dtypes)
    packed_hidden = hidden_states.dtype in PACKED_FP4
    tokens, hidden = hidden_states.shape
    hidden *= 2 if packed_hidden else 1
    experts, _, columns = w1.shape
    if columns * per_byte != hidden:
        raise InvalidArgument(
            "w1",
            f"shape {list(w1.shape)} ({columns * per_byte} columns of weights)",
            f"{hidden} columns, the width of hidden_states",
        )
    if w2.shape[0] != experts or w2.shape[1] != hidden:
        raise InvalidArgument("w2", str(list(w2.shape)), f"[{experts}, {hidden}, intermediate]")
    if w2.dtype != w1.dtype:
        raise InvalidArgument("w2", str(w2.dtype), f"{w1.dtype}, the dtype of w1")
    intermediate = w2.shape[2] * per_byte
    if quant == "per_1x32":
        for argument, name, size in (
            ("hidden_states", "hidden size", hidden),
            ("w2", "intermediate size", intermediate),
        ):
            if size % MX_BLOCK:
                raise InvalidArgument(
                    argument,
                    f"{name} {size}",
                    f"a multiple of {MX_BLOCK}, the elements under one e8m0 scale",
                    f"Pad to {-(-size // MX_BLOCK) * MX_BLOCK} with zero weights and pass the pad.",
                )
    return {"tokens": tokens, "hidden": hidden, "intermediate": intermediate, "experts": experts}


def _is_gated(w1: torch.Tensor, intermediate: int) -> bool:
    rows = w1.shape[1]
    if rows not in (intermediate, 2 * intermediate):
        raise InvalidArgument(
            "w1",
            f"{rows} rows per expert",
            f"{2 * intermediate} (gate and up) or {intermediate} (no gate), w2 having {intermediate} columns",
        )
    return rows == 2 * intermediate


def _fp32_weights(topk_weight: torch.Tensor) -> torch.Tensor:
    if topk_weight.dtype == torch.float32:
        return topk_weight
    need_dtype("topk_weight", topk_weight, (*FLOATING, torch.float64))
    return topk_weight.to(torch.float32)


def _int32_ids(topk_ids: torch.Tensor) -> torch.Tensor:
    if topk_ids.dtype == torch.int32:
        return topk_ids
    need_dtype("topk_ids", topk_ids, (torch.int32, torch.int64, torch.int16, torch.uint8))
    ids = topk_ids.to(torch.int32)
    if settings().checks == "debug" and bool((ids != topk_ids).any()):
        raise InvalidArgument("topk_ids", "ids beyond the range of int32", "ids of the experts of all ranks")
    return ids


def _output_dtype(dtype: torch.dtype | None, hidden_states: torch.Tensor) -> torch.dtype:
    if dtype is None:
        return hidden_states.dtype if hidden_states.dtype in FLOATING else torch.bfloat16
    if dtype not in FLOATING:
        raise InvalidArgument("dtype", str(dtype), ", ".join(str(allowed) for allowed in FLOATING))
    return dtype


def _whole(argument: str, value: Any) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise InvalidArgument(argument, value, "a whole number from 0 up")
    return number


def _choice(argument: str, value: Any, allowed: tuple[str, ...]) -> str:
    name = value.lower() if isinstance(value, str) else value
    if name not in allowed:
        raise InvalidArgument(argument, value, ", ".join(allowed))
    return str(name)
