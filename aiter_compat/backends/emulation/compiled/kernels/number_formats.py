"""16-bit floats, the scale rules and the element grids in numba: bit for bit what `aiter_compat.formats` computes.

The formulas are those of `formats.mx_scale` and `formats.element_rounding`, where their sources are given; here they
work on one number, in loops that LLVM turns into vector code.
"""

import numpy as np

from aiter_compat.backends.emulation.compiled.kernels.compiler import inline
from aiter_compat.backends.emulation.compiled.kernels.memory import bits_of, float_of

# Kinds of stored numbers.
FP32, BF16, FP16 = 0, 1, 2
# Scale rules, in the order of `profiles.model.ScaleRule`.
FLOOR, NEAREST, EVEN, EVEN_OR_NAN, EVEN_OR_LARGEST, RCEIL, CEIL = range(7)

_EXPONENT = np.int32(0x7F800000)
_MANTISSA = np.int32(0x007FFFFF)
_HALF = np.int32(0x00400000)
_MAGNITUDE = np.int32(0x7FFFFFFF)
_NAN_BITS = np.int32(0x7FC00000)
_ONE = np.int32(1)
_FP16_LARGEST = np.float32(65504.0)
_FP16_SMALLEST_NORMAL = np.int32(0x38800000)
_FP16_SUBNORMAL_STEPS = np.float32(2.0**24)
_FP16_REBIAS = np.int32((127 - 15) << 23)
_FROM_FP16_RANGE = np.float32(2.0**112)


@inline
def bf16_value(pattern):
    """fp32 of a bf16 bit pattern."""
    return float_of(np.int32(np.uint32(pattern) << np.uint32(16)))


@inline
def fp16_value(pattern):
    """fp32 of an IEEE half bit pattern, subnormals, infinities and NaN included."""
    wide = np.uint32(pattern)
    magnitude = np.int32((wide & np.uint32(0x7FFF)) << np.uint32(13))
    value = float_of(magnitude) * _FROM_FP16_RANGE
    bits = bits_of(value)
    if magnitude >= np.int32(0x0F800000):
        bits = magnitude | _EXPONENT
    return float_of(bits | np.int32((wide & np.uint32(0x8000)) << np.uint32(16)))


@inline
def bf16_pattern(value):
    """The nearest bf16, ties to even, as a bit pattern in the upper half of an int32; NaN stays NaN."""
    bits = bits_of(value)
    rounded = (bits + np.int32(0x7FFF) + ((bits >> np.int32(16)) & _ONE)) & np.int32(-65536)
    return rounded if (bits & _MAGNITUDE) <= _EXPONENT else _NAN_BITS


@inline
def rounded_to_grid(value, mantissa_bits, lowest_exponent):
    """Round to a grid of `mantissa_bits` bits that is evenly spaced below 2^lowest_exponent; ties to even."""
    bits = bits_of(value)
    lowest = np.int32((127 + lowest_exponent) << 23)
    exponent = bits & _EXPONENT
    exponent = exponent if exponent > lowest else lowest
    # Adding and subtracting 1.5 * 2^23 steps of the grid lets fp32's own rounding do the work.
    magic = float_of(exponent + np.int32(((23 - mantissa_bits) << 23) | 0x00400000))
    rounded = (value + magic) - magic
    return float_of((bits_of(rounded) & _MAGNITUDE) | (bits & ~_MAGNITUDE))


@inline
def rounded_to_fp16(value):
    """The nearest IEEE half, ties to even, as fp32; beyond the range infinite."""
    magnitude = bits_of(value) & _MAGNITUDE
    if magnitude >= np.int32(0x477FF000):  # 65520, half-way to the next number: infinite, or NaN already
        sign = bits_of(value) & ~_MAGNITUDE
        return value if magnitude > _EXPONENT else float_of(sign | _EXPONENT)
    return rounded_to_grid(value, 10, -14)


@inline
def fp16_pattern(value):
    """The bit pattern of a number that `rounded_to_fp16` returned."""
    bits = bits_of(value)
    magnitude = bits & _MAGNITUDE
    sign = (bits >> np.int32(16)) & np.int32(0x8000)
    if magnitude > _EXPONENT:
        return sign | np.int32(0x7E00)
    if magnitude == _EXPONENT:
        return sign | np.int32(0x7C00)
    if magnitude < _FP16_SMALLEST_NORMAL:
        return sign | np.int32(abs(value) * _FP16_SUBNORMAL_STEPS)
    return sign | ((magnitude - _FP16_REBIAS) >> np.int32(13))


@inline
def rounded_to_16_bits(value, kind):
    """Round through bf16 or fp16 and back; fp32 stays as it is."""
    if kind == BF16:
        return float_of(bf16_pattern(value))
    if kind == FP16:
        return rounded_to_fp16(value)
    return value


@inline
def scale_byte(amax, rule, largest_exponent, mantissa_bits, largest):
    """The e8m0 byte of a block from its largest magnitude; `formats.mx_scale.e8m0_from_amax`."""
    amax_bits = bits_of(amax)
    if rule in (EVEN, EVEN_OR_NAN, EVEN_OR_LARGEST):
        if amax_bits >= _EXPONENT:
            return 255
        exponent = (amax_bits + np.int32(1 << (22 - mantissa_bits))) >> np.int32(23)
        if exponent == 255 and rule == EVEN_OR_NAN:
            return 255
        if exponent == 255 and rule == EVEN_OR_LARGEST:
            return 254
        return max(exponent - largest_exponent, 0)
    divisor = largest if rule == RCEIL else np.float32(1 << largest_exponent)
    bits = bits_of(amax / divisor)
    byte = bits >> np.int32(23)
    mantissa = bits & _MANTISSA
    if rule == NEAREST:
        byte += mantissa >= _HALF and bits != _HALF
    elif rule != FLOOR:
        byte += mantissa != 0
    return min(byte, 255)


@inline
def scale_value(byte):
    """fp32 of an e8m0 byte: 2^(byte - 127), a subnormal for 0, NaN for 255."""
    if byte == 255:
        return float_of(_NAN_BITS)
    if byte == 0:
        return float_of(_HALF)
    return float_of(np.int32(byte << 23))


@inline
def scale_reciprocal(byte):
    """1 / scale_value(byte) for 0 to 254: exact."""
    if byte == 254:
        return float_of(_HALF)
    return float_of(np.int32((254 - byte) << 23))
