"""AITER's MX and int4 quantisers: blocks of 32 along the last dimension.

The e8m0 scale rule changed with v0.1.16 (see `ac.numerics`); `numerics=None` is the installed AITER's, without one that
of v0.1.15. `dynamic_mxfp4_quant` follows Quark's even rule in every release. HIP kernels take block maxima below 1e-10
for that; its NaN handling is not specified, here a block with NaN has scale byte 255.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from aiter_compat.companions.dtype_names import FP4X2, FP8_E8M0
from aiter_compat.companions.mx_scaling import TritonEvenScaling, mx_rows, rows_scaled_by
from aiter_compat.companions.row_scaling import HIP_GROUP_FLOOR, as_rows, hip_rows, need_input
from aiter_compat.companions.serving import native
from aiter_compat.companions.tensor_checks import need_choice
from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.elements import E2M1, E4M3
from aiter_compat.formats.int4 import INT4_GROUP, INT4_MAX, INT4_SMALLEST_AMAX
from aiter_compat.formats.mx_block import MX_BLOCK, MxScaling
from aiter_compat.formats.mxfp4 import pack_nibbles
from aiter_compat.layouts import layout_requirements, shuffle_scale_e8m0
from aiter_compat.profiles import NumericsProfile
from aiter_compat.profiles.model import ScaleRule

_ROUND_MODES: tuple[ScaleRule, ...] = ("floor", "rceil", "even_or_nan", "ceil")
"""AITER's MxScaleRoundMode 0 to 3: RoundDown, RoundUp, Even, Ceil (v0.1.16 on, aiter/utility/mx_types.py)."""
_HIP_DEFAULTS: dict[str, Any] = {"scale": None, "shuffle": False, "num_rows": None, "num_rows_factor": 1}
_COLUMN_UNIT = 4


def dynamic_mxfp4_quant(
    x: Tensor, scaling_mode: str = "even", shuffle: bool | None = None, *, backend: str = "auto"
) -> tuple[Tensor, Tensor]:
    """AITER's two functions of the name `dynamic_mxfp4_quant`; which of them, `shuffle` says.

    None is that of `aiter.ops.triton.quant`, which returns bytes and scales whose memory is transposed. True or False
    is that of `aiter.utility.fp4_utils`, which returns AITER's dtypes. The arithmetic is the same in both and in every
    release from v0.1.5 to v0.1.20.post1: the even scale rule, elements to nearest even. A last block that is too short
    is filled with zeros. A block with Inf has scale byte 254 and its Inf becomes 6; AITER leaves NaN open, here its
    block has scale byte 255.

    Args:
        x: [M, N] fp32, bf16 or fp16, N a multiple of 4.
        scaling_mode: "even", the only one.
        shuffle: see above; True lays the scales out as `e8m0_shuffle` does, pads 0.
        backend: auto, aiter or emulation.

    Returns:
        shuffle=None: codes uint8 [M, N/2], scales uint8 [M, ceil(N/32)] with strides (1, M).
        False: codes float4_e2m1fn_x2 [M, N/2], scales float8_e8m0fnu [M, ceil(N/32)].
        True: the same codes, scales float8_e8m0fnu [M rounded up to 256, ceil(N/32) to 8].

    Raises:
        InvalidArgument: a size or mode that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = _matrix(x)
    need_choice("scaling_mode", scaling_mode, ("even",))
    rows, columns = values.shape
    if columns % _COLUMN_UNIT:
        raise InvalidArgument(
            "x", f"shape {tuple(x.shape)}", f"a multiple of {_COLUMN_UNIT} columns", "Pad with zeros."
        )
    arguments: dict[str, Any] = {"x": x, "scaling_mode": scaling_mode}
    if shuffle is not None:
        arguments["shuffle"] = shuffle
    name = "dynamic_mxfp4_quant" if shuffle is None else "dynamic_mxfp4_quant_shuffled"
    call = native(name, arguments, x.device, backend, defaults={"scaling_mode": "even", "shuffle": False})
    if call is not None:
        served_codes, served_scales = call()
        return served_codes, served_scales
    filled = functional.pad(values, (0, -columns % MX_BLOCK))
    blocks = filled.shape[1] // MX_BLOCK
    codes, scales = rows_scaled_by(as_rows(filled, MX_BLOCK), E2M1, TritonEvenScaling())
    packed = pack_nibbles(codes.view(filled.shape))[:, : columns // 2].contiguous()
    scales = scales.view(rows, blocks)
    if shuffle is None:
        return packed, scales.t().contiguous().t()
    if shuffle:
        stored_rows, stored_columns = layout_requirements("scale_e8m0").padded_size(rows, blocks)
        scales = functional.pad(scales, (0, stored_columns - blocks, 0, stored_rows - rows))
        scales = shuffle_scale_e8m0(scales)
    return packed.view(FP4X2), scales.view(FP8_E8M0)


def per_1x32_f4_quant(
    x: Tensor,
    scale: Tensor | None = None,  # noqa: ARG001 - without effect in AITER
    quant_dtype: torch.dtype = FP4X2,
    shuffle: bool = False,
    pack_dim: int = -1,
    round_mode: int | None = None,
    *,
    numerics: NumericsProfile | str | None = None,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.per_1x32_f4_quant`, its torch reference of MXFP4.

    `pack_dim` exists from v0.1.13 on, `round_mode` from v0.1.16 on.

    Args:
        x: [..., N] fp32, bf16 or fp16, N a multiple of 32.
        scale: without effect, as in AITER.
        quant_dtype: ac.dtypes.fp4x2.
        shuffle: lay the scales out as `e8m0_shuffle` does.
        pack_dim: -1; 0 for blocks along the first of two dimensions: [K, N] to codes [K/2, N], scales [K/32, N].
        round_mode: AITER's MxScaleRoundMode: 0 down, 1 up, 2 even, 3 ceil; None: the rule of `numerics`.
        numerics: profile; see the module.
        backend: auto, aiter or emulation.

    Returns:
        codes float4_e2m1fn_x2 [..., N/2], low nibble = even column; scales float8_e8m0fnu [rows, N/32], leading
        dimensions flattened (padded to 256 by 8 where shuffled).

    Raises:
        InvalidArgument: a size, dtype or mode that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(x)
    need_choice("quant_dtype", quant_dtype, (FP4X2,))
    need_choice("pack_dim", pack_dim, (-1, 0))
    if pack_dim == 0 and values.dim() != 2:
        raise InvalidArgument("pack_dim", 0, f"-1 for {values.dim()} dimensions, 0 for two")
    if round_mode is not None:
        need_choice("round_mode", int(round_mode), tuple(range(len(_ROUND_MODES))))
    _whole_blocks(x, pack_dim)
    arguments = {
        "x": x,
        "scale": None,
        "quant_dtype": quant_dtype,
        "shuffle": shuffle,
        "pack_dim": pack_dim,
        "round_mode": round_mode,
    }
    defaults = {"scale": None, "shuffle": False, "pack_dim": -1, "round_mode": None}
    # A profile is a word of the emulation's: AITER has its own rule.
    call = native(
        "per_1x32_f4_quant", arguments, x.device, backend if numerics is None else "emulation", defaults=defaults
    )
    if call is not None:
        served_codes, served_scales = call()
        return served_codes, served_scales
    lines = values.t() if pack_dim == 0 else values
    groups = as_rows(lines, MX_BLOCK)
    if round_mode is None:
        codes, scales = mx_rows(groups, E2M1, "mxfp4", numerics)
    else:
        codes, scales = rows_scaled_by(groups, E2M1, MxScaling(E2M1, _ROUND_MODES[int(round_mode)], 0.0))
    packed = pack_nibbles(codes.view(lines.shape))
    scales = scales.view(lines.numel() // max(lines.shape[-1], 1), lines.shape[-1] // MX_BLOCK)
    if shuffle:
        scales = shuffle_scale_e8m0(scales)
    if pack_dim == 0:
        packed, scales = packed.t().contiguous(), scales.t().contiguous()
    return packed.view(FP4X2), scales.view(FP8_E8M0)


def per_1x32_mx_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = FP4X2,
    shuffle: bool = False,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
    scale_type: torch.dtype | None = None,
    *,
    numerics: NumericsProfile | str | None = None,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.per_1x32_mx_quant_hip` (v0.1.15 on): MXFP4, MXFP8, or fp8 with an fp32 scale for each 32.

    Args:
        x: [M, N] bf16 or fp16 (fp32 in the emulation), N a multiple of 32.
        scale: None; AITER has no static one.
        quant_dtype: ac.dtypes.fp4x2, or float8_e4m3fn.
        shuffle: lay e8m0 scales out as `e8m0_shuffle` does.
        num_rows: one int32: rows that AITER writes; here all are.
        num_rows_factor: rows for each of `num_rows`.
        scale_type: of fp8's scales: float32 (None) or float8_e8m0fnu. fp4 always has e8m0 scales.
        numerics: profile; see the module.
        backend: auto, aiter or emulation.

    Returns:
        codes [M, N/2] float4_e2m1fn_x2 or [M, N] fp8; scales [M, N/32], padded to 256 by 8 where shuffled.

    Raises:
        InvalidArgument: a size, dtype or combination that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = _matrix(x)
    _whole_blocks(x, -1)
    if scale is not None:
        raise InvalidArgument("scale", "a tensor", "None", "AITER computes the scales of blocks itself.")
    need_choice("quant_dtype", quant_dtype, (FP4X2, torch.float8_e4m3fn))
    is_fp4 = quant_dtype == FP4X2
    need_choice("scale_type", scale_type, (None, FP8_E8M0) if is_fp4 else (None, torch.float32, FP8_E8M0))
    is_e8m0 = is_fp4 or scale_type == FP8_E8M0
    if shuffle and not is_e8m0:
        raise InvalidArgument("shuffle", True, "False with fp32 scales", "Pass scale_type=ac.dtypes.fp8_e8m0.")
    arguments = {
        "x": x,
        "scale": None,
        "quant_dtype": quant_dtype,
        "shuffle": shuffle,
        "num_rows": num_rows,
        "num_rows_factor": num_rows_factor,
        "scale_type": scale_type,
    }
    defaults = {**_HIP_DEFAULTS, "quant_dtype": FP4X2, "scale_type": None}
    chosen = backend if numerics is None else "emulation"
    call = native("per_1x32_mx_quant_hip", arguments, x.device, chosen, defaults=defaults)
    if call is not None:
        served_codes, served_scales = call()
        return served_codes, served_scales
    return _hip_blocks(values, is_fp4, is_e8m0, shuffle, numerics)


def per_1x32_f4_quant_hip(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = FP4X2,
    shuffle: bool = False,
    num_rows: Tensor | None = None,
    num_rows_factor: int = 1,
    *,
    numerics: NumericsProfile | str | None = None,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `aiter.per_1x32_f4_quant_hip`: `per_1x32_mx_quant_hip` for MXFP4, in every release from v0.1.5 on.

    Args:
        x: [M, N] bf16 or fp16 (fp32 in the emulation), N a multiple of 32.
        scale: None.
        quant_dtype: ac.dtypes.fp4x2.
        shuffle: lay the scales out as `e8m0_shuffle` does.
        num_rows: one int32: rows that AITER writes; here all are.
        num_rows_factor: rows for each of `num_rows`.
        numerics: profile; see the module.
        backend: auto, aiter or emulation.

    Returns:
        codes float4_e2m1fn_x2 [M, N/2]; scales float8_e8m0fnu [M, N/32], padded to 256 by 8 where shuffled.

    Raises:
        InvalidArgument: a size or dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = _matrix(x)
    _whole_blocks(x, -1)
    if scale is not None:
        raise InvalidArgument("scale", "a tensor", "None", "AITER computes the scales of blocks itself.")
    need_choice("quant_dtype", quant_dtype, (FP4X2,))
    arguments = {
        "x": x,
        "scale": None,
        "quant_dtype": quant_dtype,
        "shuffle": shuffle,
        "num_rows": num_rows,
        "num_rows_factor": num_rows_factor,
    }
    defaults = {**_HIP_DEFAULTS, "quant_dtype": FP4X2}
    chosen = backend if numerics is None else "emulation"
    call = native("per_1x32_f4_quant_hip", arguments, x.device, chosen, defaults=defaults)
    if call is not None:
        served_codes, served_scales = call()
        return served_codes, served_scales
    return _hip_blocks(values, True, True, shuffle, numerics)


def per_1x32_f4_quant_triton(
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = FP4X2,
    shuffle: bool = False,
    *,
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """AITER's `per_1x32_f4_quant_triton`: `dynamic_mxfp4_quant(x, shuffle=shuffle)`.

    Args:
        x: [M, N], N a multiple of 4.
        scale: without effect, as in AITER.
        quant_dtype: ac.dtypes.fp4x2.
        shuffle: see `dynamic_mxfp4_quant`.
        backend: auto, aiter or emulation.

    Returns:
        As `dynamic_mxfp4_quant` with this `shuffle`.

    Raises:
        InvalidArgument: a size or dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    del scale
    need_choice("quant_dtype", quant_dtype, (FP4X2,))
    return dynamic_mxfp4_quant(x, shuffle=shuffle, backend=backend)


def per_1x32_i4_quant(weight: Tensor, group_size: int = INT4_GROUP, *, backend: str = "auto") -> tuple[Tensor, Tensor]:
    """AITER's `aiter.ops.quant.per_1x32_i4_quant` (v0.1.13.post1 on): symmetric int4 weights, one code a byte.

    Computed in the weight's own dtype; `ac.quantize(weight, "int4_1x32")` gives the same codes, packed, and the scales
    not transposed.

    Args:
        weight: [..., N, K] fp32, bf16 or fp16, K a multiple of `group_size`.
        group_size: elements under one scale.
        backend: auto, aiter or emulation.

    Returns:
        codes int8 [..., N, K], -7 to 7; scales bf16 [..., K/group_size, N].

    Raises:
        InvalidArgument: a size or dtype that does not fit.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    values = need_input(weight, "weight", rank=2)
    if not isinstance(group_size, int) or group_size < 1 or weight.shape[-1] % group_size:
        raise InvalidArgument("group_size", group_size, f"a divisor of {weight.shape[-1]}, the columns of weight")
    arguments = {"weight": weight, "group_size": group_size}
    call = native("per_1x32_i4_quant", arguments, weight.device, backend, defaults={"group_size": INT4_GROUP})
    if call is not None:
        served_codes, served_scales = call()
        return served_codes, served_scales
    groups = values.reshape(*weight.shape[:-1], weight.shape[-1] // group_size, group_size)
    scales = groups.abs().amax(-1).clamp_(min=INT4_SMALLEST_AMAX) / INT4_MAX
    integers = (groups / scales.unsqueeze(-1)).round_().clamp_(-INT4_MAX, INT4_MAX).nan_to_num_(nan=0.0)
    return integers.to(torch.int8).view(weight.shape), scales.transpose(-1, -2).contiguous().to(torch.bfloat16)


def _hip_blocks(
    values: Tensor, is_fp4: bool, is_e8m0: bool, shuffle: bool, numerics: NumericsProfile | str | None
) -> tuple[Tensor, Tensor]:
    rows, columns = values.shape
    groups = as_rows(values, MX_BLOCK)
    if not is_e8m0:
        codes, scales = hip_rows(groups, torch.float8_e4m3fn, HIP_GROUP_FLOOR)
        return codes.view(values.shape), scales.view(rows, columns // MX_BLOCK)
    element, name = (E2M1, "mxfp4") if is_fp4 else (E4M3, "mxfp8")
    codes, scales = mx_rows(groups, element, name, numerics, floor=HIP_GROUP_FLOOR)
    codes = codes.view(values.shape)
    scales = scales.view(rows, columns // MX_BLOCK)
    if shuffle:
        scales = shuffle_scale_e8m0(scales)
    stored = pack_nibbles(codes).view(FP4X2) if is_fp4 else codes.view(torch.float8_e4m3fn)
    return stored, scales.view(FP8_E8M0)


def _matrix(x: Any) -> Tensor:
    found = need_input(x)
    if found.dim() != 2:
        raise InvalidArgument("x", f"shape {tuple(found.shape)}", "two dimensions [M, N]", "Flatten the leading ones.")
    return found


def _whole_blocks(x: Tensor, dim: int) -> None:
    if x.shape[dim] % MX_BLOCK:
        raise InvalidArgument(
            "x", f"shape {tuple(x.shape)}", f"a multiple of {MX_BLOCK} in dimension {dim}", "Pad with zeros."
        )
