"""One scale for each row of a matrix, and the rows as fp8 or int8: the arithmetic of AITER's quantisers.

AITER has three forms of it. Its torch functions divide by amax / largest. Its HIP kernels multiply amax with the fp32
reciprocal of the largest value, and rows with the hardware's reciprocal of the scale (here the exact one, so scales and
codes may differ by one unit in the last place). Its Triton kernels divide for the scale and multiply with its
reciprocal. int8 truncates towards zero in all of them; fp8 rounds to nearest, ties to even, and saturates.

Sources: aiter/ops/quant.py, csrc/kernels/quant_kernels.cu, csrc/include/aiter_opus_plus.h and
aiter/ops/triton/_triton_kernels/quant/quant.py at v0.1.15.post3 and v0.1.20.post1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aiter_compat.companions.dtype_names import default_fp8
from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.scaled_groups import largest_magnitudes
from aiter_compat.moe.checks import FLOATING, need_dtype

HIP_GROUP_FLOOR = 1e-10
"""Smallest maximum of a group of 32, 64 or 128 in HIP's kernel (dynamic_per_group_scaled_quant_kernel)."""
HIP_GROUP_SIZES = (32, 64, 128)
FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)
ROW_DTYPES = (torch.int8, *FP8)


def largest_value(dtype: torch.dtype) -> float:
    """The largest value of an fp8 dtype (448, 240 for fnuz) or of an integer dtype (127)."""
    return torch.finfo(dtype).max if dtype.is_floating_point else float(torch.iinfo(dtype).max)


def to_codes(values: Tensor, dtype: torch.dtype) -> Tensor:
    """fp32 values in a small dtype: fp8 rounds and saturates, integers truncate towards zero."""
    if not dtype.is_floating_point:
        return values.to(dtype)
    largest = largest_value(dtype)
    return values.clamp(-largest, largest).to(dtype)


def hip_rows(rows: Tensor, dtype: torch.dtype, floor: float = 0.0) -> tuple[Tensor, Tensor]:
    """Codes [n, size] and fp32 scales [n, 1] as the HIP kernels make them; a row of zeros has scale 0 and codes 0."""
    amax = largest_magnitudes(rows)
    scale = (amax.clamp(min=floor) if floor else amax) * (1.0 / largest_value(dtype))
    return to_codes(_times(rows, scale), dtype), scale


def hip_row_floor(size: int) -> float:
    """The smallest maximum that counts in rows of this size: AITER takes the group kernel for three of them."""
    return HIP_GROUP_FLOOR if size in HIP_GROUP_SIZES else 0.0


def triton_rows(rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Codes [n, size] and fp32 scales [n, 1] as the Triton kernels make them; a row of zeros as in `hip_rows`."""
    scale = largest_magnitudes(rows) / largest_value(dtype)
    return to_codes(_times(rows, scale), dtype), scale


def hip_scaled(rows: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Codes under one given scale, an fp32 tensor of one element."""
    return to_codes(_times(rows, scale.reshape(1, 1).float()), dtype)


def as_rows(x: Tensor, size: int) -> Tensor:
    """[..., K] as [n, size]."""
    return x.reshape(x.numel() // size if size else 0, size)


def need_input(x: Any, argument: str = "x", *, rank: int = 1) -> Tensor:
    """A floating tensor of this rank or more.

    Raises:
        InvalidArgument: it is none.
    """
    if not isinstance(x, Tensor):
        raise InvalidArgument(argument, type(x).__name__, "a torch.Tensor")
    need_dtype(argument, x, FLOATING)
    if x.dim() < rank:
        raise InvalidArgument(argument, f"rank {x.dim()}", f"rank {rank} or more")
    return x


def need_row_dtype(dtype: Any, argument: str = "quant_dtype") -> torch.dtype:
    """int8 or an fp8 e4m3 dtype.

    Raises:
        InvalidArgument: it is none.
    """
    if dtype not in ROW_DTYPES:
        remedy = f"ac.dtypes.fp8 is {default_fp8()} here."
        raise InvalidArgument(argument, dtype, ", ".join(map(str, ROW_DTYPES)), remedy)
    found: torch.dtype = dtype
    return found


def _times(rows: Tensor, scale: Tensor) -> Tensor:
    # Zeros stay zeros where the reciprocal is Inf: under a scale of 0, or one below 2^-128.
    return torch.where((scale == 0) | (rows == 0), 0.0, rows.float() * scale.reciprocal())
