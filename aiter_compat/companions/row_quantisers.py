"""AITER's quantisers with fp32 scales: per tensor, per token and per group, in torch's and in HIP's arithmetic.

`num_rows` and `num_rows_factor` say how many rows AITER writes; the others are left as they were, so here all rows are
computed and the count is not read. See `aiter_compat.companions.row_scaling` for the arithmetic and its sources.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aiter_compat.companions.dtype_names import FP8_E8M0
from aiter_compat.companions.mx_scaling import mx_rows
from aiter_compat.companions.row_scaling import (
    FP8,
    HIP_GROUP_FLOOR,
    HIP_GROUP_SIZES,
    as_rows,
    hip_row_floor,
    hip_rows,
    hip_scaled,
    largest_value,
    need_input,
    need_row_dtype,
    to_codes,
    triton_rows,
)
from aiter_compat.companions.serving import native
from aiter_compat.companions.tensor_checks import need_choice
from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.elements import E4M3
from aiter_compat.formats.scaled_groups import largest_magnitudes
from aiter_compat.profiles import NumericsProfile

_ROWS: dict[str, Any] = {"num_rows": None, "num_rows_factor": 1}
_HIP_DEFAULTS: dict[str, Any] = {"scale": None, **_ROWS}


def pertoken_quant(
    x: Tensor,
    scale: Tensor | None = None,
    x_scale: Tensor | None = None,
    scale_dtype: torch.dtype = torch.float32,
    quant_dtype: torch.dtype = torch.int8,
    dtypeMax: float | None = None,  # noqa: N803 - AITER's name
    *,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.pertoken_quant`, its torch reference: one scale for each row.

    Args:
        x: [..., K] fp32, bf16 or fp16.
        scale: fp32 [..., 1] to use; None computes amax / largest, 1 for a row of zeros.
        x_scale: smooth scale that x is multiplied by first.
        scale_dtype: of the returned scale.
        quant_dtype: int8 or fp8.
        dtypeMax: the largest value to scale to; None: that of the dtype.
        backend: auto, aiter or emulation.

    Returns:
        codes [..., K] of `quant_dtype`, scales [..., 1] of `scale_dtype`.

    Raises:
        InvalidArgument: a dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    dtype = need_row_dtype(quant_dtype)
    arguments = {
        "x": x,
        "scale": scale,
        "x_scale": x_scale,
        "scale_dtype": scale_dtype,
        "quant_dtype": dtype,
        "dtypeMax": dtypeMax,
    }
    defaults = {"scale": None, "x_scale": None, "scale_dtype": torch.float32, "dtypeMax": None}
    call = native("pertoken_quant", arguments, x.device, backend, defaults=defaults)
    if call is not None:
        codes, scales = call()
        return codes, scales
    values = values.float() if x_scale is None else values.float() * x_scale
    if scale is None:
        amax = largest_magnitudes(as_rows(values, values.shape[-1])).view(*values.shape[:-1], 1)
        scale = amax / (largest_value(dtype) if dtypeMax is None else dtypeMax)
        scale = torch.where(scale == 0, 1.0, scale)
    return to_codes(values / scale, dtype), scale.to(scale_dtype)


def per_tensor_quant(
    x: Tensor,
    scale: Tensor | None = None,
    scale_dtype: torch.dtype = torch.float32,
    quant_dtype: torch.dtype = torch.int8,
    dtypeMax: float | None = None,  # noqa: N803 - AITER's name
    *,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.per_tensor_quant`, its torch reference: one scale for everything.

    A tensor of zeros has scale 0 and codes of 0 / 0: NaN in fp8.

    Args:
        x: any shape, fp32, bf16 or fp16, not empty.
        scale: one fp32 number to use; None computes amax / largest.
        scale_dtype: of the returned scale.
        quant_dtype: int8 or fp8.
        dtypeMax: the largest value to scale to; None: that of the dtype.
        backend: auto, aiter or emulation.

    Returns:
        codes of `quant_dtype` in x's shape, scale [1] of `scale_dtype`.

    Raises:
        InvalidArgument: a dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    dtype = need_row_dtype(quant_dtype)
    arguments = {"x": x, "scale": scale, "scale_dtype": scale_dtype, "quant_dtype": dtype, "dtypeMax": dtypeMax}
    defaults = {"scale": None, "scale_dtype": torch.float32, "dtypeMax": None}
    call = native("per_tensor_quant", arguments, x.device, backend, defaults=defaults)
    if call is not None:
        codes, scales = call()
        return codes, scales
    if scale is None:
        if not values.numel():
            raise InvalidArgument("x", f"shape {tuple(x.shape)}", "one element or more, to take a maximum of")
        scale = values.abs().amax().float() / (largest_value(dtype) if dtypeMax is None else dtypeMax)
    return to_codes(values.float() / scale, dtype), scale.view(1).to(scale_dtype)


def per_token_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = torch.int8,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
    *,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.per_token_quant_hip`: one scale for each row.

    Args:
        x: [..., K] bf16 or fp16 (fp32 in the emulation).
        scale: None; AITER has no static one.
        quant_dtype: int8 or fp8.
        num_rows: one int32: rows that AITER writes.
        num_rows_factor: rows for each of `num_rows`.
        backend: auto, aiter or emulation.

    Returns:
        codes [..., K], fp32 scales [..., 1]: 0 for a row of zeros, whose codes AITER leaves open and which are 0 here;
        maxima below 1e-10 count as that where K is 32, 64 or 128.

    Raises:
        InvalidArgument: a scale is given, or a dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    dtype = need_row_dtype(quant_dtype)
    _refuse_scale(scale)
    arguments = {"x": x, "scale": None, "quant_dtype": dtype, "num_rows": num_rows, "num_rows_factor": num_rows_factor}
    call = native("per_token_quant_hip", arguments, x.device, backend, defaults=_HIP_DEFAULTS)
    if call is not None:
        codes, scales = call()
        return codes, scales
    codes, scales = hip_rows(as_rows(values, x.shape[-1]), dtype, hip_row_floor(x.shape[-1]))
    return codes.view(x.shape), scales.view(*x.shape[:-1], 1)


def per_group_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = torch.int8,
    group_size: int = 128,
    transpose_scale: bool = False,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
    scale_type: torch.dtype = torch.float32,
    *,
    numerics: NumericsProfile | str | None = None,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.per_group_quant_hip`: one scale for each 32, 64 or 128 elements of a row.

    Args:
        x: [..., K] bf16 or fp16 (fp32 in the emulation), K a multiple of `group_size`.
        scale: None; AITER has no static one.
        quant_dtype: int8 or fp8.
        group_size: 32, 64 or 128.
        transpose_scale: the scales' memory is [K/group_size, rows], under the same shape. Without effect for int8, as
            in AITER. With e8m0 scales of groups of 32 AITER writes the order of `e8m0_shuffle` into a tensor that is
            too small for its padding, which is refused here.
        num_rows: one int32: rows that AITER writes.
        num_rows_factor: rows for each of `num_rows`.
        scale_type: float32, or float8_e8m0fnu with fp8 (v0.1.19 on).
        numerics: profile of e8m0 scales; None: the installed AITER's.
        backend: auto, aiter or emulation.

    Returns:
        codes [..., K], scales [..., K/group_size]; maxima below 1e-10 count as that.

    Raises:
        InvalidArgument: a size or dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    dtype = need_row_dtype(quant_dtype)
    _refuse_scale(scale)
    need_choice("group_size", group_size, HIP_GROUP_SIZES)
    if x.shape[-1] % group_size:
        raise InvalidArgument("x", f"shape {tuple(x.shape)}", f"whole groups of {group_size} in the last dimension")
    need_choice("scale_type", scale_type, (torch.float32, FP8_E8M0) if dtype in FP8 else (torch.float32,))
    arguments = {
        "x": x,
        "scale": None,
        "quant_dtype": dtype,
        "group_size": group_size,
        "transpose_scale": transpose_scale,
        "num_rows": num_rows,
        "num_rows_factor": num_rows_factor,
        "scale_type": scale_type,
    }
    defaults = {**_HIP_DEFAULTS, "group_size": 128, "transpose_scale": False, "scale_type": torch.float32}
    call = native("per_group_quant_hip", arguments, x.device, backend, defaults=defaults)
    if call is not None:
        codes, scales = call()
        return codes, scales
    groups = as_rows(values, group_size)
    shape = (*x.shape[:-1], x.shape[-1] // group_size)
    if scale_type != torch.float32:
        codes, scales = mx_rows(groups, E4M3, "mxfp8", numerics, floor=HIP_GROUP_FLOOR)
        codes, scales = codes.view(dtype), scales.view(FP8_E8M0)
    else:
        codes, scales = hip_rows(groups, dtype, HIP_GROUP_FLOOR)
    scales = scales.view(shape)
    if transpose_scale and dtype in FP8:
        scales = _transposed(scales, shuffled=scale_type != torch.float32 and group_size == HIP_GROUP_SIZES[0])
    return codes.view(x.shape), scales


def per_tensor_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = torch.int8,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
    *,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.per_tensor_quant_hip`: one scale for everything.

    Args:
        x: [..., K] bf16 or fp16 (fp32 in the emulation).
        scale: one fp32 number to use; None computes it.
        quant_dtype: int8 or fp8.
        num_rows: None, as AITER asserts.
        num_rows_factor: without effect, as in AITER.
        backend: auto, aiter or emulation.

    Returns:
        codes in x's shape, fp32 scale [1]: 0 for a tensor of zeros, whose codes AITER leaves open and which are 0 here.

    Raises:
        InvalidArgument: a dtype that does not fit, or `num_rows`.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    dtype = need_row_dtype(quant_dtype)
    if num_rows is not None:
        raise InvalidArgument("num_rows", "a tensor", "None")
    arguments = {"x": x, "scale": scale, "quant_dtype": dtype, "num_rows": None, "num_rows_factor": num_rows_factor}
    call = native("per_tensor_quant_hip", arguments, x.device, backend, defaults=_HIP_DEFAULTS)
    if call is not None:
        codes, scales = call()
        return codes, scales
    if scale is None:
        codes, scale = hip_tensor(values, dtype)
        return codes, scale
    return hip_scaled(as_rows(values, x.shape[-1]), _one(scale), dtype).view(x.shape), scale.view(1)


def per_token_quant_triton(
    x: Tensor, scale: Tensor | None = None, quant_dtype: torch.dtype = torch.int8, *, backend: str = "auto"
) -> tuple[Tensor, Tensor]:
    """AITER's `per_token_quant_triton`: as `per_token_quant_hip`, in the arithmetic of its Triton kernel.

    Args:
        x: [..., K].
        scale: None.
        quant_dtype: int8 or fp8.
        backend: auto, aiter or emulation.

    Returns:
        codes [..., K], fp32 scales [..., 1].

    Raises:
        InvalidArgument: a scale is given, or a dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    dtype = need_row_dtype(quant_dtype)
    _refuse_scale(scale)
    arguments = {"x": x, "scale": None, "quant_dtype": dtype}
    call = native("per_token_quant_triton", arguments, x.device, backend, defaults={"scale": None})
    if call is not None:
        codes, scales = call()
        return codes, scales
    codes, scales = triton_rows(as_rows(values, x.shape[-1]), dtype)
    return codes.view(x.shape), scales.view(*x.shape[:-1], 1)


def per_tensor_quant_triton(
    x: Tensor, scale: Tensor | None = None, quant_dtype: torch.dtype = torch.int8, *, backend: str = "auto"
) -> tuple[Tensor, Tensor]:
    """AITER's `per_tensor_quant_triton`: as `per_tensor_quant_hip`, in the arithmetic of its Triton kernel.

    Args:
        x: [..., K].
        scale: one fp32 number to use; None computes it.
        quant_dtype: int8 or fp8.
        backend: auto, aiter or emulation.

    Returns:
        codes in x's shape, fp32 scale [1] (the given one as it is).

    Raises:
        InvalidArgument: a dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    dtype = need_row_dtype(quant_dtype)
    arguments = {"x": x, "scale": scale, "quant_dtype": dtype}
    call = native("per_tensor_quant_triton", arguments, x.device, backend, defaults={"scale": None})
    if call is not None:
        codes, scales = call()
        return codes, scales
    rows = as_rows(values, x.shape[-1])
    if scale is None:
        codes, scale = triton_rows(rows.reshape(1, -1), dtype)
        return codes.view(x.shape), scale.view(1)
    return hip_scaled(rows, _one(scale), dtype).view(x.shape), scale


def hip_tensor(values: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Codes in the shape of `values` and one scale [1], in HIP's arithmetic."""
    codes, scale = hip_rows(values.reshape(1, values.numel()), dtype)
    return codes.view(values.shape), scale.view(1)


def _transposed(scales: Tensor, *, shuffled: bool) -> Tensor:
    """Scales whose memory is in another order, under the same shape."""
    rows, columns = scales.numel() // scales.shape[-1] if scales.shape[-1] else 0, scales.shape[-1]
    if shuffled:
        raise InvalidArgument(
            "transpose_scale",
            True,
            "False with e8m0 scales of groups of 32",
            "per_1x32_mx_quant_hip(shuffle=True, scale_type=) makes the padded tensor that this order needs.",
        )
    flat = scales.view(torch.uint8) if scales.element_size() == 1 else scales
    return flat.reshape(rows, columns).t().contiguous().view(scales.shape).view(scales.dtype)


def _refuse_scale(scale: Any) -> None:
    if scale is not None:
        raise InvalidArgument("scale", "a tensor", "None", "AITER has a static scale per tensor only.")


def _one(scale: Any) -> Tensor:
    if not isinstance(scale, Tensor) or scale.numel() != 1:
        given = f"shape {tuple(scale.shape)}" if isinstance(scale, Tensor) else type(scale).__name__
        raise InvalidArgument("scale", given, "a tensor of one number")
    return scale
