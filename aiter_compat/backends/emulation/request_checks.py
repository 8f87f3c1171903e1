"""Refuse requests whose parts contradict each other. Shapes and dtypes of the weights are checked by `open_bank`."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.activations import check_activation
from aiter_compat.backends.emulation.expert_matrices import MX_FORMATS
from aiter_compat.backends.emulation.first_operand import hidden_size, is_quantised
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation
from aiter_compat.formats import format_names

_OUT_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
_VALUE_DTYPES = _OUT_DTYPES

# Which weight formats a quant type can scale.
_FORMATS_OF_QUANT_TYPE: dict[str, tuple[str, ...]] = {
    "no": ("unquantised",),
    "per_tensor": ("fp8",),
    "per_token": ("fp8", "int4"),
    "per_1x32": (*MX_FORMATS, "int4"),
    "per_1x128": ("fp8",),
    "per_128x128": ("fp8",),
}
# Their scales cross tokens, or are defined for weights alone.
_WEIGHTS_ONLY = ("fp8_128x128", "int4_1x32")
_LAYOUTS = ("logical", "shuffle_16x16", "a16w4")
_GATE_ROWS = ("separated", "interleaved")


def check_request(request: EmulationRequest) -> None:
    """Check everything that needs no look at the values.

    Raises:
        InvalidArgument: an unknown name, or shapes of tokens and routing that do not match.
        UnsupportedByEmulation: formats, layouts or options that do not go together.
    """
    check_activation(request.activation)
    _check_names(request)
    _check_tokens(request)
    if request.gate_rows == "interleaved":
        if not request.activation.gated:
            raise InvalidArgument("gate_rows", "interleaved", "separated: a non-gated activation has one half only")
        if request.weight_layout != "logical":
            raise InvalidArgument(
                "gate_rows",
                f"interleaved with layout {request.weight_layout!r}",
                "interleaved rows in the logical layout",
                "Shuffled weights have their gate and up rows separated first; AITER's GateMode.INTERLEAVE is the "
                "layout 'a16w4' with gate_rows 'separated'.",
            )
    if request.shared_expert_id >= 0 and request.shared_w1 is None:
        raise InvalidArgument("shared_expert_id", request.shared_expert_id, "-1 without shared_w1 and shared_w2")


def _check_names(request: EmulationRequest) -> None:
    allowed = _FORMATS_OF_QUANT_TYPE.get(request.quant_type)
    if allowed is None:
        raise InvalidArgument("quant_type", request.quant_type, ", ".join(_FORMATS_OF_QUANT_TYPE))
    for weight_format in (request.weight_format, request.shared_weight_format):
        if weight_format is not None and weight_format not in allowed:
            raise UnsupportedByEmulation(
                f"quant_type {request.quant_type!r} scales {' or '.join(allowed)} weights, got {weight_format!r}."
            )
    if request.weight_layout not in _LAYOUTS:
        raise InvalidArgument("weight_layout", request.weight_layout, ", ".join(_LAYOUTS))
    if request.gate_rows not in _GATE_ROWS:
        raise InvalidArgument("gate_rows", request.gate_rows, ", ".join(_GATE_ROWS))
    if request.out_dtype not in _OUT_DTYPES:
        raise InvalidArgument("out_dtype", request.out_dtype, ", ".join(map(str, _OUT_DTYPES)))
    known = ("none", *(name for name in format_names() if name not in _WEIGHTS_ONLY))
    for argument, name in (("qdq_first", request.qdq_first), ("qdq_second", request.qdq_second)):
        if name in _WEIGHTS_ONLY:
            raise UnsupportedByEmulation(f"{argument}: {name!r} is a format of weights, not of activations.")
        if name not in known:
            raise InvalidArgument(argument, name, ", ".join(known))


def _check_tokens(request: EmulationRequest) -> None:
    hidden = request.hidden_states
    if hidden.ndim != 2:
        raise InvalidArgument("hidden_states", f"{hidden.ndim} dimensions", "two: [tokens, hidden size]")
    if not is_quantised(hidden) and hidden.dtype not in _VALUE_DTYPES:
        raise InvalidArgument(
            "hidden_states", hidden.dtype, "bfloat16, float16, float32, float8_e4m3fn, or packed mxfp4 bytes"
        )
    for argument, tensor in (("topk_weight", request.topk_weight), ("topk_ids", request.topk_ids)):
        if tensor.ndim != 2 or tensor.shape[0] != hidden.shape[0]:
            raise InvalidArgument(argument, f"shape {tuple(tensor.shape)}", f"shape [{hidden.shape[0]}, top-k]")
    if request.topk_ids.shape != request.topk_weight.shape:
        raise InvalidArgument(
            "topk_ids",
            f"shape {tuple(request.topk_ids.shape)}",
            f"{tuple(request.topk_weight.shape)}, as topk_weight",
        )
    if request.topk_ids.is_floating_point():
        raise InvalidArgument("topk_ids", request.topk_ids.dtype, "an integer dtype")
    width, rows = hidden_size(hidden), request.w2.shape[-2]
    if width != rows:
        raise InvalidArgument("hidden_states", f"{width} features", f"{rows}, the rows of w2")
