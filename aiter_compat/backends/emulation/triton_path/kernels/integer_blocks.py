"""Dot products of MXFP4 blocks as integers: twice an e2m1 element is one of 0, 1, 2, 3, 4, 6, 8, 12 and its sign."""

from __future__ import annotations

import triton
import triton.language as tl

from aiter_compat.backends.emulation.triton_path.kernels.block_scales import (
    inverse_scale,
    magnitude_bits,
    rounded_to_grid,
    scale_byte,
)

_INTEGERS = tl.constexpr(1.5 * 2**23)


@triton.jit
def _pairs(values):
    """[A, B] as two tensors [A, B / 2]: elements 0, 2, .. and 1, 3, .. of the last axis."""
    return tl.split(tl.reshape(values, [values.shape[0], values.shape[1] // 2, 2]))


@triton.jit
def integer_words(values, amax_floor, RULE: tl.constexpr):
    """Blocks rounded to MXFP4, as integers.

    Args:
        values: fp32 [B, 32].
        amax_floor, RULE: as for `block_scales.scale_byte`.

    Returns:
        Twice the elements in bytes, four in a word, the first one lowest: int32 [B, 8]. NaN has the scale NaN, and any
        element. The bytes of the scales: int32 [B].
    """
    largest = tl.max(magnitude_bits(values), axis=1)
    byte = scale_byte(largest, amax_floor, RULE, 1, 6.0, 2)
    grid = rounded_to_grid(values * inverse_scale(byte)[:, None], 1, 6.0, 0)
    # The lowest byte of such a sum is the integer; a conversion has a quarter of the rate.
    twice = (grid * 2.0 + _INTEGERS).to(tl.int32, bitcast=True) & 0xFF
    even, odd = _pairs(twice)
    low, high = _pairs(even | (odd << 8))
    return low | (high << 16), byte


@triton.jit
def _twice(code):
    """Twice the value of e2m1 codes in the lowest four bits."""
    magnitude = code & 7
    exponent = magnitude >> 1
    fraction = magnitude & 1
    value = tl.where(exponent == 0, fraction, (2 + fraction) << tl.maximum(exponent - 1, 0))
    return tl.where((code & 8) != 0, -value, value)


@triton.jit
def magnitude_table(PTX: tl.constexpr):
    """Twice the first four magnitudes of e2m1, a byte each: what `dots_of_words` looks up."""
    table = tl.full([], 0x03020100, tl.int32)
    if PTX:
        # Plus the lowest bit of t * t + t, which is 0. The assembler does not see that and keeps the table in a
        # register; a constant it moves there for each look-up.
        table = tl.inline_asm_elementwise(
            """{
            .reg .b32 thread, nothing;
            mov.u32 thread, %tid.x;
            mad.lo.u32 nothing, thread, thread, thread;
            and.b32 nothing, nothing, 1;
            add.s32 $0, $1, nothing;
            }""",
            "=r,r",
            [table],
            dtype=tl.int32,
            is_pure=True,
            pack=1,
        )
    return table


@triton.jit
def dots_of_words(word, first, second, table, PTX: tl.constexpr):
    """Eight products of each word, added up: four times what the elements give, exact.

    Args:
        word: int32, eight packed e2m1 codes, the first in the lowest bits.
        first, second: int32 words from `integer_words`: what the first four codes and the others are multiplied by.
        table: from `magnitude_table`.
        PTX: use instructions of NVIDIA GPUs. A byte permutation looks up four magnitudes at once: where the selector's
            sign bit is set it repeats the looked-up byte's own, which is 0. So the word gives the positive elements,
            and the word with its signs turned the negative ones.

    Returns:
        int32 of the common shape.
    """
    if PTX:
        dots = tl.inline_asm_elementwise(
            """{
            .reg .b32 magnitudes, selector, positive, negative;
            prmt.b32 magnitudes, $4, 0x0C080604, $1;
            dp4a.s32.s32 positive, magnitudes, $2, 0;
            shr.u32 selector, $1, 16;
            prmt.b32 magnitudes, $4, 0x0C080604, selector;
            dp4a.s32.s32 positive, magnitudes, $3, positive;
            xor.b32 selector, $1, 0x88888888;
            prmt.b32 magnitudes, $4, 0x0C080604, selector;
            dp4a.s32.s32 negative, magnitudes, $2, 0;
            shr.u32 selector, selector, 16;
            prmt.b32 magnitudes, $4, 0x0C080604, selector;
            dp4a.s32.s32 negative, magnitudes, $3, negative;
            sub.s32 $0, positive, negative;
            }""",
            "=r,r,r,r,r",
            [word, first, second, table],
            dtype=tl.int32,
            is_pure=True,
            pack=1,
        )
    else:
        dots = tl.zeros_like(word)
        for place in tl.static_range(4):
            dots += _twice(word >> (4 * place)) * ((first << (24 - 8 * place)) >> 24)
            dots += _twice(word >> (16 + 4 * place)) * ((second << (24 - 8 * place)) >> 24)
    return dots
