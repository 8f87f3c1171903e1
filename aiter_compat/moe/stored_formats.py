"""The stored format of a weight, read from its dtype and quant type."""

from __future__ import annotations

from typing import Any

import torch

from aiter_compat.moe.checks import FLOATING, FP4, FP8, PACKED_FP4, need_dtype, need_tensor

_BLOCK_FORMATS = {
    torch.uint8: "mxfp4",
    **dict.fromkeys(FP4, "mxfp4"),
    torch.int8: "int4",
    torch.float8_e4m3fn: "mxfp8",
    torch.float8_e5m2: "mxfp8_e5m2",
}
_FP8_QUANT_TYPES = ("per_tensor", "per_token", "per_1x128", "per_128x128")


def stored_format(argument: str, weight: Any, quant_type: str, scale: Any = None) -> str:
    """How the codes of `weight` read.

    Args:
        argument: name of the weight, for errors.
        weight: the tensor; packed int4 is told from packed mxfp4 by the dtype int8, or by bf16 scales.
        quant_type: canonical quant type of the call.
        scale: scales of the weight; `ac.quantize` returns int4 as bytes with bf16 scales, which mxfp4 cannot have.

    Raises:
        InvalidArgument: no tensor, or a dtype that this quant type does not have.
    """
    if quant_type != "no" and quant_type != "per_1x32" and quant_type not in _FP8_QUANT_TYPES:
        return "unquantised"  # AITER's own; the emulation refuses the quant type by name
    if not isinstance(weight, torch.Tensor):
        need_tensor(argument, weight, 3, "[experts, rows, columns]")
    if quant_type == "no":
        need_dtype(argument, weight, FLOATING, "Name the quant type of quantised weights.")
        return "unquantised"
    if quant_type == "per_1x32":
        need_dtype(argument, weight, (*PACKED_FP4, torch.int8, torch.float8_e4m3fn, torch.float8_e5m2))
        if weight.dtype == torch.uint8 and isinstance(scale, torch.Tensor) and scale.dtype == torch.bfloat16:
            return "int4"
        return _BLOCK_FORMATS[weight.dtype]
    need_dtype(argument, weight, FP8)
    return "fp8"
