"""The public functions: quantise, dequantise, and both at once."""

from __future__ import annotations

import torch
from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.catalog import find_codec
from aiter_compat.formats.codec import INPUT_DTYPES, OUTPUT_DTYPES, Options
from aiter_compat.formats.quantized import Quantized
from aiter_compat.profiles import NumericsProfile, profile


def quantize(
    x: Tensor,
    format: str,  # noqa: A002 - the public argument name
    numerics: str | NumericsProfile | None = None,
    *,
    scale: Tensor | float | None = None,
    pad_last_block: bool = False,
) -> Quantized:
    """Quantise a tensor.

    Everything is computed in fp32 whatever the dtype of x (int4_1x32 follows AITER and computes in x's dtype).

    Args:
        x: fp32, bf16 or fp16, any leading shape; blocks run along the last dimension.
        format: one of `format_names()`.
        numerics: a profile or its name; None is "aiter-0.1.15".
        scale: static scale of fp8_tensor; None computes it from x.
        pad_last_block: append zeros to a last block that is too short (MX formats), instead of refusing it.

    Returns:
        Codes and scales; shapes and dtypes are listed at `Quantized`. A block that holds Inf or NaN has scale byte 255
        (fp8: a scale that is not finite) and dequantises to NaN; its codes carry no meaning.

    Raises:
        InvalidArgument: a name is unknown, or the shape or dtype does not fit the format.
    """
    return find_codec(format).quantize(_checked(x), profile(numerics), _options(scale, pad_last_block))


def dequantize(q: Quantized, dtype: torch.dtype = torch.float32) -> Tensor:
    """Values of a quantised tensor.

    Args:
        q: codes, scales and format; may be built by hand from a checkpoint's tensors.
        dtype: of the result; values are computed in fp32 and rounded once.

    Returns:
        The values, in the shape that was quantised.

    Raises:
        InvalidArgument: the format is unknown, or shapes or dtypes do not fit it.
    """
    if not isinstance(q, Quantized):
        raise InvalidArgument("q", type(q).__name__, "a Quantized(codes, scales, format)")
    return find_codec(q.format).dequantize(q, _output_dtype(dtype))


def qdq(
    x: Tensor,
    format: str,  # noqa: A002 - the public argument name
    numerics: str | NumericsProfile | None = None,
    *,
    scale: Tensor | float | None = None,
    pad_last_block: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Quantise and dequantise: `dequantize(quantize(x, ...))`, bit for bit, in fewer passes.

    Args:
        x: as in `quantize`.
        format: as in `quantize`.
        numerics: as in `quantize`.
        scale: as in `quantize`.
        pad_last_block: as in `quantize`.
        dtype: of the result; None keeps x's. A caller that computes on in fp32 asks for fp32 here: an fp8 value times
            its fp32 scale is no bf16 number.

    Returns:
        A new tensor of x's shape.

    Raises:
        InvalidArgument: as in `quantize`.
    """
    checked = _checked(x)
    out_dtype = x.dtype if dtype is None else _output_dtype(dtype)
    return find_codec(format).qdq(checked, profile(numerics), _options(scale, pad_last_block), out_dtype)


def _checked(x: Tensor) -> Tensor:
    if not isinstance(x, Tensor):
        raise InvalidArgument("x", type(x).__name__, "a torch.Tensor")
    if x.dtype not in INPUT_DTYPES:
        raise InvalidArgument("x", f"dtype {x.dtype}", ", ".join(map(str, INPUT_DTYPES)))
    if x.dim() < 1:
        raise InvalidArgument("x", "a scalar tensor", "rank 1 or more")
    return x.detach()


def _output_dtype(dtype: torch.dtype) -> torch.dtype:
    if dtype not in OUTPUT_DTYPES:
        raise InvalidArgument("dtype", dtype, ", ".join(map(str, OUTPUT_DTYPES)))
    return dtype


def _options(scale: Tensor | float | None, pad_last_block: bool) -> Options:
    if scale is not None:
        scale = torch.as_tensor(scale, dtype=torch.float32)
        if scale.numel() != 1:
            raise InvalidArgument("scale", f"shape {tuple(scale.shape)}", "one number")
    return Options(scale=scale, pad_last_block=pad_last_block)
