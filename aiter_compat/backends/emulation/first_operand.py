"""What the first GEMM reads: hidden_states rounded through a format, or the codes that they are already."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.activation_qdq import round_through
from aiter_compat.backends.emulation.element_tables import decode_e8m0, decode_elements, values_per_byte
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.errors import InvalidArgument

_PACKED = (torch.uint8, torch.float4_e2m1fn_x2)
_E8M0 = (torch.uint8, torch.float8_e8m0fnu)
_CODES = (*_PACKED, torch.float8_e4m3fn)


def is_quantised(hidden_states: torch.Tensor) -> bool:
    """Whether hidden_states hold codes rather than values."""
    return hidden_states.dtype in _CODES


def hidden_size(hidden_states: torch.Tensor) -> int:
    """H, in values: packed MXFP4 holds two a byte."""
    return hidden_states.shape[-1] * (2 if hidden_states.dtype in _PACKED else 1)


def first_operand(request: EmulationRequest, tokens: int) -> torch.Tensor:
    """The first `tokens` rows of what the first GEMM reads.

    Codes that arrive quantised are decoded and not rounded again, as AITER passes them on
    (aiter/fused_moe.py, fused_moe_2stages, v0.1.15.post3).

    Returns:
        [tokens, H] fp32.

    Raises:
        InvalidArgument: codes without a scale, with a scale that does not fit, or with a request to round
            them through another format than their own.
    """
    hidden = request.hidden_states[:tokens]
    if not is_quantised(hidden):
        return round_through(hidden, request.qdq_first, request.profile, request.a1_scale)
    scale = request.a1_scale
    if scale is None:
        raise InvalidArgument("a1_scale", None, f"the scales of hidden_states, which are {hidden.dtype} codes")
    own = _own_format(request, scale)
    if request.qdq_first not in ("none", *own):
        raise InvalidArgument(
            "qdq_first",
            request.qdq_first,
            " or ".join(("none", *own)),
            "hidden_states are quantised already and are not rounded a second time.",
        )
    element_format = "mxfp4" if hidden.dtype in _PACKED else "mxfp8"
    values = decode_elements(hidden.view(torch.uint8), element_format, values_per_byte(element_format))
    scales = decode_e8m0(scale) if scale.dtype in _E8M0 else scale.float()
    if scales.numel() == 1:
        return values * scales.reshape(())
    scales = scales.reshape(scales.shape[0], -1)[:tokens]
    return (values.view(tokens, scales.shape[1], -1) * scales.unsqueeze(2)).view(values.shape)


def _own_format(request: EmulationRequest, scale: torch.Tensor) -> tuple[str, ...]:
    """Names of the format that the codes and their scale are in; two where one row makes them the same."""
    hidden = request.hidden_states
    rows, columns = hidden.shape[0], hidden_size(hidden)
    found: list[str] = []
    width = scale.numel() // scale.shape[0] if scale.ndim else 0
    enough = scale.ndim > 0 and scale.shape[0] >= rows
    if scale.dtype in _E8M0:
        if enough and width == columns // 32 and columns % 32 == 0:
            found.append("mxfp4" if hidden.dtype in _PACKED else "mxfp8")
    elif hidden.dtype not in _PACKED:
        if scale.numel() == 1:
            found.append("fp8_tensor")
        if enough and width == 1:
            found.append("fp8_token")
        if enough and columns % 128 == 0 and width == columns // 128:
            found.append("fp8_1x128")
    if not found:
        raise InvalidArgument(
            "a1_scale",
            f"shape {tuple(scale.shape)}, {scale.dtype}",
            f"e8m0 [M, {columns // 32}]"
            + ("" if hidden.dtype in _PACKED else f", or float32 of one element, [M, 1] or [M, {columns // 128}]"),
            f"hidden_states are {rows} rows of {hidden.dtype} codes.",
        )
    return tuple(found)
