"""The shared e8m0 scale of an MX block: from the block's maximum to a byte, and from the byte to fp32.

The rules work on the fp32 bit pattern. Sources: AITER v0.1.15.post3 `aiter/utility/fp4_utils.py` f32_to_e8m0 and
e8m0_to_f32, v0.1.20.post1 f32_to_mx_e8m0_scale in the same file; AMD Quark 0.13 `quark/torch/quantization/utils.py`
even_round; OCP MX v1.0 section 6.3 (floor).
"""

from __future__ import annotations

import torch
from torch import Tensor

from aiter_compat.formats.elements import Element
from aiter_compat.formats.fp32_bits import (
    EXPONENT_ALL_ONES,
    EXPONENT_MASK,
    MANTISSA_BITS,
    MANTISSA_HALF,
    MANTISSA_MASK,
)
from aiter_compat.profiles.model import ScaleRule

E8M0_LARGEST = 254
E8M0_NAN = 255
E8M0_BYTE_0_BITS = MANTISSA_HALF
"""Byte 0 is 2^-127, an fp32 subnormal with this bit pattern (torchao reads 2^-126 there)."""
E8M0_NAN_BITS = EXPONENT_MASK | MANTISSA_HALF


def e8m0_from_amax(amax: Tensor, element: Element, rule: ScaleRule) -> Tensor:
    """Scale byte of blocks, from their largest magnitudes.

    Args:
        amax: fp32, non-negative, any shape.
        element: the elements that the block will hold.
        rule: as documented at `NumericsProfile.mxfp4_scale_rule`.

    Returns:
        int32 of the same shape, 0 to 255. Inf and NaN give 255, zero gives 0.
    """
    if rule in ("even", "even_or_nan", "even_or_largest"):
        return _even(amax, element, rule)
    if rule == "rceil":
        byte = _exponent_rounded_up(amax / element.largest)
    elif rule == "ceil":
        byte = _exponent_rounded_up(amax / 2.0**element.largest_exponent)
    elif rule == "nearest":
        byte = _exponent_rounded_to_nearest(amax / 2.0**element.largest_exponent)
    else:
        byte = _exponent(amax / 2.0**element.largest_exponent)
    return byte.clamp_(max=E8M0_NAN)  # the mantissa of a NaN may have rounded its exponent up once more


def e8m0_to_fp32(byte: Tensor) -> Tensor:
    """Value of scale bytes.

    Args:
        byte: int32, 0 to 255, any shape.

    Returns:
        fp32 of the same shape: 2^(byte - 127), NaN for 255.
    """
    bits = byte << MANTISSA_BITS
    bits = torch.where(byte == 0, E8M0_BYTE_0_BITS, bits)
    return torch.where(byte == E8M0_NAN, E8M0_NAN_BITS, bits).view(torch.float32)


def _exponent(value: Tensor) -> Tensor:
    return value.view(torch.int32) >> MANTISSA_BITS


def _mantissa(value: Tensor) -> Tensor:
    return value.view(torch.int32) & MANTISSA_MASK


def _exponent_rounded_up(value: Tensor) -> Tensor:
    return _exponent(value) + (_mantissa(value) != 0)


def _exponent_rounded_to_nearest(value: Tensor) -> Tensor:
    # A significand of exactly 1.5 rounds up; the subnormal 2^-127, which has the same mantissa, does not.
    rounds_up = (_mantissa(value) >= MANTISSA_HALF) & (value.view(torch.int32) != MANTISSA_HALF)
    return _exponent(value) + rounds_up


def _even(amax: Tensor, element: Element, rule: ScaleRule) -> Tensor:
    half_step = 1 << (MANTISSA_BITS - element.mantissa_bits - 1)
    exponent = (amax.view(torch.int32) + half_step) >> MANTISSA_BITS
    byte = (exponent - element.largest_exponent).clamp_(min=0)
    if rule != "even":
        carried = E8M0_NAN if rule == "even_or_nan" else E8M0_LARGEST
        byte = torch.where(exponent == EXPONENT_ALL_ONES, carried, byte)
    return torch.where(_exponent(amax) == EXPONENT_ALL_ONES, E8M0_NAN, byte)
