"""The MX rules stated as plainly as torch allows; the oracle that the fast path is tested against, bit for bit.

Nothing here is shared with the fast path but the table of element formats. The scale is found by comparing
significands in fp64 instead of by fp32 bit patterns, the elements by searching the list of values instead of by fp32
rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from aiter_compat.formats.elements import Element
from aiter_compat.profiles.model import ScaleRule

_BIAS = 127
_LARGEST = 254
_NAN = 255
_SMALLEST_NORMAL = 2.0**-126
_BYTE_0_VALUE = 2.0**-127


def oracle_qdq(blocks: Tensor, element: Element, rule: ScaleRule) -> tuple[Tensor, Tensor, Tensor]:
    """Quantise and dequantise whole blocks.

    Args:
        blocks: fp32 [n, 32].
        element: element format.
        rule: scale rule, see `NumericsProfile.mxfp4_scale_rule`.

    Returns:
        scale bytes int64 [n, 1], codes int64 [n, 32] (without meaning where the byte is 255), values fp32 [n, 32].
    """
    byte = oracle_scale_byte(blocks.abs().amax(-1, keepdim=True), element, rule)
    scale = torch.where(byte == _NAN, float("nan"), torch.exp2(byte.double() - _BIAS))
    # A fp32 division by a power of two; in fp64 it would keep digits that fp32 loses below 2^-126.
    codes = oracle_codes((blocks.double() / scale).float(), element)
    values = torch.tensor([element.value(code) for code in range(2 * element.sign_bit)])[codes].double() * scale
    return byte, codes, values.float()


def oracle_scale_byte(amax: Tensor, element: Element, rule: ScaleRule) -> Tensor:
    """Scale byte of blocks from their largest magnitudes.

    Args:
        amax: fp32, non-negative.
        element: elements of the block.
        rule: the scale rule.

    Returns:
        int64 of the same shape.
    """
    if rule in ("even", "even_or_nan", "even_or_largest"):
        exponent, significand = _exponent_and_significand(amax)
        rounds_up = significand >= 2 - 2.0 ** -(element.mantissa_bits + 1)
        exponent = exponent + rounds_up
        byte = (exponent + _BIAS - element.largest_exponent).clamp(min=0)
        if rule != "even":
            byte = torch.where(exponent > _BIAS, _NAN if rule == "even_or_nan" else _LARGEST, byte)
        return torch.where(amax.isfinite(), byte, _NAN)

    # The other rules round an fp32 quotient to a power of two; fp32 rounds the quotient itself first.
    quotient = amax / (element.largest if rule == "rceil" else 2.0**element.largest_exponent)
    exponent, significand = _exponent_and_significand(quotient)
    if rule == "floor":
        rounds_up = torch.zeros_like(significand, dtype=torch.bool)
        subnormal_byte_is_1 = rounds_up
    elif rule == "nearest":
        rounds_up = significand >= 1.5
        subnormal_byte_is_1 = quotient > _BYTE_0_VALUE
    else:
        rounds_up = significand > 1
        subnormal_byte_is_1 = quotient > 0
    byte = exponent + _BIAS + rounds_up
    # AITER reads the exponent field, which is 0 for every fp32 subnormal: their bytes are 0 or, rounded up, 1.
    byte = torch.where(quotient < _SMALLEST_NORMAL, subnormal_byte_is_1, byte)
    return torch.where(amax.isfinite(), byte, _NAN)


def oracle_codes(values: Tensor, element: Element) -> Tensor:
    """Nearest codes, ties to the even code, saturating, the sign bit of every value kept.

    Args:
        values: fp32.
        element: element format.

    Returns:
        int64 of the same shape.
    """
    grid = torch.tensor(element.magnitudes(), dtype=torch.float64)
    midpoints = (grid[:-1] + grid[1:]) / 2
    magnitude = values.abs().double()
    below = torch.bucketize(magnitude, midpoints)
    above = torch.bucketize(magnitude, midpoints, right=True)
    code = torch.where(below % 2 == 0, below, above)
    code = torch.where(values.isnan(), 0, code)
    return torch.where(torch.signbit(values), code + element.sign_bit, code)


def _exponent_and_significand(value: Tensor) -> tuple[Tensor, Tensor]:
    """Split into significand * 2^exponent with the significand in [1, 2); 0 and non-finite values count as 2^-127."""
    finite = torch.where(value.isfinite(), value, 0.0).double()
    half_significand, exponent = torch.frexp(torch.where(finite == 0, _BYTE_0_VALUE, finite))
    return exponent.long() - 1, half_significand * 2
