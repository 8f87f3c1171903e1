"""fp32 to the grid of an element format, and grid values to codes and back, in few passes over the tensor.

Rounding to nearest even adds and subtracts a constant whose last mantissa bit weighs exactly one step of the element
grid: fp32's own rounding does the work. It needs no cast to a torch fp8 dtype, whose saturation differs between torch
releases and between dtypes. `mx_oracle` states the same rule without the trick.
"""

from __future__ import annotations

import torch
from torch import Tensor

from aiter_compat.formats.elements import Element
from aiter_compat.formats.fp32_bits import EXPONENT_BIAS, EXPONENT_MASK, MANTISSA_BITS, MANTISSA_HALF

BYTE_VALUES = 256


def round_to_element_(y: Tensor, element: Element, magic: Tensor, rounded: Tensor) -> Tensor:
    """Round to the element's grid: nearest even, saturating, zero's sign kept, NaN stays NaN.

    Args:
        y: fp32, contiguous; saturated in place.
        element: the grid.
        magic: int32 of y's shape; overwritten.
        rounded: fp32 of y's shape; overwritten with the result.

    Returns:
        `rounded`.
    """
    y.clamp_(-element.largest, element.largest)
    # 1.5 * 2^23 grid steps: the last mantissa bit of that number is one step, and adding y never leaves its binade.
    # The grid steps follow the exponent of y, down to that of the smallest normal.
    torch.bitwise_and(y.view(torch.int32), EXPONENT_MASK, out=magic)
    magic.clamp_(min=(EXPONENT_BIAS + 1 - element.bias) << MANTISSA_BITS)
    magic.add_(((MANTISSA_BITS - element.mantissa_bits) << MANTISSA_BITS) | MANTISSA_HALF)
    torch.add(y, magic.view(torch.float32), out=rounded)
    rounded.sub_(magic.view(torch.float32))
    return torch.copysign(rounded, y, out=rounded)


def encode(values: Tensor, element: Element) -> Tensor:
    """Codes of values that lie on the element's grid.

    Args:
        values: fp32, results of `round_to_element_`.
        element: their grid.

    Returns:
        uint8 of the same shape. NaN becomes the element's NaN code.
    """
    magnitude = values.abs()
    shift = MANTISSA_BITS - element.mantissa_bits
    normal = (magnitude.view(torch.int32) >> shift) - ((EXPONENT_BIAS - element.bias) << element.mantissa_bits)
    subnormal = magnitude.div(element.smallest_subnormal).to(torch.int32)
    codes = torch.where(magnitude < element.smallest_normal, subnormal, normal)
    codes = torch.where(torch.signbit(values), codes + element.sign_bit, codes)
    return torch.where(values.isnan(), element.nan_code, codes).to(torch.uint8)


def decode(codes: Tensor, element: Element) -> Tensor:
    """Values of codes, one a byte.

    Args:
        codes: uint8; bits above the element's sign bit are ignored.
        element: what they encode.

    Returns:
        fp32 of the same shape.
    """
    table = torch.tensor([element.value(code) for code in range(BYTE_VALUES)], device=codes.device)
    return table.index_select(0, codes.reshape(-1).int()).view(codes.shape)
