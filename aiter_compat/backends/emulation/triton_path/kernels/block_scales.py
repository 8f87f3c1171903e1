"""Scales and elements of MX blocks inside Triton kernels: the rules of `formats.mx_scale` on registers.

Every function works on fp32 tensors of any shape and is called from Triton and from Gluon kernels alike. Maxima are
taken over bit patterns, because a NaN must win and a floating-point maximum drops it.
"""

from __future__ import annotations

import triton
import triton.language as tl

from aiter_compat.backends.emulation.triton_path.kernels.short_numbers import INTERPRETED

# Triton code reads module constants only when they are declared as such.
_MANTISSA_BITS = tl.constexpr(23)
_MANTISSA = tl.constexpr(0x7FFFFF)
_MANTISSA_HALF = tl.constexpr(0x400000)
_MAGNITUDE = tl.constexpr(0x7FFFFFFF)
_SIGN = tl.constexpr(-0x80000000)
_NAN_BYTE = tl.constexpr(255)
_LARGEST_BYTE = tl.constexpr(254)
_BIAS = tl.constexpr(127)

# An e2m1 element times 2^shift is an e5m2 element for these shifts: 6 * 2^13 is its largest value but one, and half a
# step of 0.5 * 2^-15 would be lost.
_LARGEST_SHIFT = tl.constexpr(13)
_SMALLEST_SHIFT = tl.constexpr(-15)


@triton.jit
def magnitude_bits(values):
    """Bit patterns of the magnitudes of fp32 values; as integers they are ordered, with NaN the largest."""
    return values.to(tl.int32, bitcast=True) & _MAGNITUDE


@triton.jit
def scale_byte(
    amax_bits, amax_floor, RULE: tl.constexpr, MANTISSA: tl.constexpr, LARGEST: tl.constexpr, EMAX: tl.constexpr
):
    """e8m0 byte of blocks whose largest magnitudes have these bits.

    Args:
        amax_bits: int32 bit patterns from `magnitude_bits`.
        amax_floor: smallest maximum that counts.
        RULE: as documented at `NumericsProfile.mxfp4_scale_rule`.
        MANTISSA: mantissa bits of the element.
        LARGEST: largest value of the element.
        EMAX: exponent of LARGEST.

    Returns:
        int32, 0 to 255.
    """
    amax = amax_bits.to(tl.float32, bitcast=True)
    amax = tl.where(amax < amax_floor, amax_floor, amax)
    bits = amax.to(tl.int32, bitcast=True)
    if RULE == "even" or RULE == "even_or_nan" or RULE == "even_or_largest":
        exponent = (bits + (1 << (22 - MANTISSA))) >> _MANTISSA_BITS
        byte = tl.maximum(exponent - EMAX, 0)
        if RULE == "even_or_nan":
            byte = tl.where(exponent == _NAN_BYTE, _NAN_BYTE, byte)
        if RULE == "even_or_largest":
            byte = tl.where(exponent == _NAN_BYTE, _LARGEST_BYTE, byte)
        byte = tl.where((bits >> _MANTISSA_BITS) == _NAN_BYTE, _NAN_BYTE, byte)
    else:
        if RULE == "rceil":
            scaled = tl.math.div_rn(amax, LARGEST)
        else:
            scaled = amax * (1.0 / (1 << EMAX))
        scaled_bits = scaled.to(tl.int32, bitcast=True)
        mantissa = scaled_bits & _MANTISSA
        byte = scaled_bits >> _MANTISSA_BITS
        if RULE == "rceil" or RULE == "ceil":
            byte += (mantissa != 0).to(tl.int32)
        if RULE == "nearest":
            byte += ((mantissa >= _MANTISSA_HALF) & (scaled_bits != _MANTISSA_HALF)).to(tl.int32)
        byte = tl.minimum(byte, _NAN_BYTE)
    return byte


@triton.jit
def scale_value(byte):
    """fp32 value of e8m0 bytes: 2^(byte - 127), a subnormal for 0, NaN for 255."""
    bits = byte << _MANTISSA_BITS
    bits = tl.where((byte == 0) | (byte == _NAN_BYTE), bits | _MANTISSA_HALF, bits)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def inverse_scale(byte):
    """fp32 value of 1 / `scale_value`, exact; NaN for 255."""
    inverse = 2 * _BIAS - byte
    bits = tl.where(inverse <= 0, _MANTISSA_HALF, inverse << _MANTISSA_BITS)
    bits = tl.where(byte == _NAN_BYTE, (_NAN_BYTE << _MANTISSA_BITS) | _MANTISSA_HALF, bits)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def rounded_to_grid(scaled, MANTISSA: tl.constexpr, LARGEST: tl.constexpr, SMALLEST_EXPONENT: tl.constexpr):
    """fp32 values on the grid of an element format, as `formats.element_rounding.round_to_element_` gives them.

    Args:
        scaled: values divided by their scale.
        MANTISSA: mantissa bits of the element.
        LARGEST: its largest value.
        SMALLEST_EXPONENT: exponent of its smallest normal value.
    """
    clamped = tl.clamp(scaled, -LARGEST, LARGEST, propagate_nan=tl.PropagateNan.ALL)
    bits = clamped.to(tl.int32, bitcast=True)
    exponent = tl.maximum(bits & (_NAN_BYTE << _MANTISSA_BITS), (_BIAS + SMALLEST_EXPONENT) << _MANTISSA_BITS)
    # 1.5 * 2^23 grid steps: fp32's own rounding of the sum is the rounding to the grid.
    magic = (exponent + (((_MANTISSA_BITS - MANTISSA) << _MANTISSA_BITS) | _MANTISSA_HALF)).to(tl.float32, bitcast=True)
    rounded = (clamped + magic) - magic
    return ((rounded.to(tl.int32, bitcast=True) & _MAGNITUDE) | (bits & _SIGN)).to(tl.float32, bitcast=True)


@triton.jit
def base_byte(largest_byte):
    """e8m0 byte that a row's scales are counted from, such that its largest scale has the largest shift."""
    return tl.minimum(tl.maximum(largest_byte - _LARGEST_SHIFT, 0), _LARGEST_BYTE)


@triton.jit
def fold(byte, base):
    """How far a block's scale goes into the exponents of its elements.

    A block whose scale is too far from the base keeps its own scale and unshifted elements. A block of zeros is given
    the base as its scale by the caller.

    Args:
        byte: int32 e8m0 byte of each block.
        base: int32 e8m0 byte that scales count from, broadcastable.

    Returns:
        int32 shift; int32 byte of the scale that remains; whether the block stays apart.
    """
    shift = byte - base
    apart = (shift > _LARGEST_SHIFT) | (shift < _SMALLEST_SHIFT) | (byte == _NAN_BYTE)
    return tl.where(apart, 0, shift), tl.where(apart, byte, base), apart


@triton.jit
def shifted(grid, shift):
    """e2m1 elements times 2^shift, exact.

    Args:
        grid: fp32 elements from `rounded_to_grid`.
        shift: int32 from `fold`, broadcastable.
    """
    return grid * ((shift + _BIAS) << _MANTISSA_BITS).to(tl.float32, bitcast=True)


@triton.jit
def e5m2_codes(elements):
    """uint8 codes of fp32 numbers that e5m2 holds, such as those of `shifted`."""
    # The upper half of an fp16 number is e5m2, subnormals included.
    return (elements.to(tl.float16).to(tl.int16, bitcast=True) >> 8).to(tl.uint8)


@triton.jit
def e5m2_words(first, second, third, fourth):
    """int32 words of four codes each, the first one lowest, from numbers as for `e5m2_codes`. For Hopper and newer."""
    if INTERPRETED:
        low = e5m2_codes(first).to(tl.int32) | (e5m2_codes(second).to(tl.int32) << 8)
        high = e5m2_codes(third).to(tl.int32) | (e5m2_codes(fourth).to(tl.int32) << 8)
        words = low | (high << 16)
    else:
        words = tl.inline_asm_elementwise(
            """{
            .reg .b16 low, high;
            cvt.rn.satfinite.e5m2x2.f32 low, $2, $1;
            cvt.rn.satfinite.e5m2x2.f32 high, $4, $3;
            mov.b32 $0, {low, high};
            }""",
            "=r,f,f,f,f",
            [first, second, third, fourth],
            dtype=tl.int32,
            is_pure=True,
            pack=1,
        )
    return words
