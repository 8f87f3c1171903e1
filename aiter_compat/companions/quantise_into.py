"""AITER's quantisers that write into given tensors; arithmetic as in `aiter_compat.companions.row_scaling`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aiter_compat.companions.row_quantisers import hip_tensor
from aiter_compat.companions.row_scaling import (
    as_rows,
    hip_row_floor,
    hip_rows,
    hip_scaled,
    need_input,
    need_row_dtype,
)
from aiter_compat.companions.serving import native
from aiter_compat.companions.tensor_checks import need_choice
from aiter_compat.errors import InvalidArgument

_TOKEN_DEFAULTS: dict[str, Any] = {"scale_ub": None, "shuffle_scale": False, "num_rows": None, "num_rows_factor": 1}


def static_per_tensor_quant(out: Tensor, input: Tensor, scale: Tensor, *, backend: str = "auto") -> None:  # noqa: A002
    """AITER's `aiter.static_per_tensor_quant`: quantise under a given scale.

    Args:
        out: int8 or fp8, of the shape of `input`: written.
        input: bf16 or fp16 (fp32 in the emulation).
        scale: one fp32 number.
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a shape or dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values, dtype = _checked(out, input)
    _need_fp32("scale", scale, 1)
    arguments = {"out": out, "input": input, "scale": scale}
    call = native("static_per_tensor_quant", arguments, values.device, backend)
    if call is not None:
        call()
        return
    out.copy_(hip_scaled(as_rows(values, values.shape[-1]), scale, dtype).view(out.shape))


def dynamic_per_tensor_quant(out: Tensor, input: Tensor, scale: Tensor, *, backend: str = "auto") -> None:  # noqa: A002
    """AITER's `aiter.dynamic_per_tensor_quant`: `per_tensor_quant_hip` into given tensors.

    Args:
        out: int8 or fp8, of the shape of `input`: written.
        input: bf16 or fp16 (fp32 in the emulation).
        scale: one fp32 number: written.
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a shape or dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values, dtype = _checked(out, input)
    _need_fp32("scale", scale, 1)
    arguments = {"out": out, "input": input, "scale": scale}
    call = native("dynamic_per_tensor_quant", arguments, values.device, backend)
    if call is not None:
        call()
        return
    codes, computed = hip_tensor(values, dtype)
    out.copy_(codes)
    scale.copy_(computed.view(scale.shape))


def dynamic_per_token_scaled_quant(
    out: Tensor,
    input: Tensor,  # noqa: A002 - AITER's name
    scales: Tensor,
    scale_ub: Tensor | None = None,
    shuffle_scale: bool = False,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
    *,
    backend: str = "auto",
) -> None:
    """AITER's `aiter.dynamic_per_token_scaled_quant`: `per_token_quant_hip` into given tensors.

    Args:
        out: int8 or fp8, of the shape of `input`: written.
        input: [..., K] bf16 or fp16 (fp32 in the emulation).
        scales: fp32, one for each row: written.
        scale_ub: without effect: no kernel of v0.1.15.post3 or v0.1.20.post1 reads it.
        shuffle_scale: False; `per_group_quant_hip(transpose_scale=True)` makes transposed scales.
        num_rows: one int32: rows that AITER writes; here all are.
        num_rows_factor: rows for each of `num_rows`.
        backend: auto, aiter or emulation.

    Raises:
        InvalidArgument: a shape or dtype that does not fit, or `shuffle_scale` where AITER does not serve.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values, dtype = _checked(out, input)
    rows = values.numel() // max(values.shape[-1], 1)
    _need_fp32("scales", scales, rows)
    arguments = {
        "out": out,
        "input": input,
        "scales": scales,
        "scale_ub": scale_ub,
        "shuffle_scale": shuffle_scale,
        "num_rows": num_rows,
        "num_rows_factor": num_rows_factor,
    }
    call = native("dynamic_per_token_scaled_quant", arguments, values.device, backend, defaults=_TOKEN_DEFAULTS)
    if call is not None:
        call()
        return
    need_choice("shuffle_scale", shuffle_scale, (False,), "per_group_quant_hip(transpose_scale=True) has that order.")
    codes, computed = hip_rows(as_rows(values, values.shape[-1]), dtype, hip_row_floor(values.shape[-1]))
    out.copy_(codes.view(out.shape))
    scales.copy_(computed.view(scales.shape))


def _checked(out: Any, values: Any) -> tuple[Tensor, torch.dtype]:
    found = need_input(values, "input")
    if not isinstance(out, Tensor) or out.shape != found.shape:
        given = f"shape {tuple(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
        raise InvalidArgument("out", given, f"a tensor of shape {tuple(found.shape)}, that of input")
    return found, need_row_dtype(out.dtype, "out")


def _need_fp32(argument: str, scale: Any, count: int) -> None:
    if not isinstance(scale, Tensor) or scale.dtype != torch.float32 or scale.numel() != count:
        given = f"{scale.dtype} {tuple(scale.shape)}" if isinstance(scale, Tensor) else type(scale).__name__
        raise InvalidArgument(argument, given, f"a float32 tensor of {count} elements")
