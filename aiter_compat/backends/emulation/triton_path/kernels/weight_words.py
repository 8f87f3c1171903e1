"""MX weights as they are stored, and what their codes stand for: addresses of every layout, elements of every format.

A word is eight codes of one row, side by side: four bytes of mxfp4, eight bytes of the formats with a code a byte. Tile
[rows, 16] of words is a step of 128 columns, and the codes at one place of the words are a plane of it. Addresses
follow `layouts.tile_16x16`, `layouts.a16w4_weight`, `layouts.e8m0_scale` and `layouts.a16w4_scale`.
"""

from __future__ import annotations

import triton
import triton.language as tl

STEP_WORDS = 16
WORD_CODES = 8
_STEP_WORDS = tl.constexpr(STEP_WORDS)
_STEP_BLOCKS = tl.constexpr(4)
_BLOCK_WORDS = tl.constexpr(4)
_HIGH = tl.constexpr(0x7FFFFFFF)


@triton.jit
def _word_place(row, word, rows, row_words, CHUNK: tl.constexpr, LAYOUT: tl.constexpr, GATE_UP: tl.constexpr):
    """Where a word of an expert's matrix lies, in words; the layouts keep CHUNK of them, 16 bytes, together."""
    if LAYOUT == "logical":
        place = row * row_words + word
    else:
        if LAYOUT == "a16w4" and GATE_UP:
            half = rows // 2
            tile = (row % half) // 16 * 2 + row // half
        else:
            tile = row // 16
        place = tile * 16 * row_words + word // CHUNK * (16 * CHUNK) + row % 16 * CHUNK + word % CHUNK
    return place


@triton.jit
def _scale_place(row, block, rows, stored_blocks, LAYOUT: tl.constexpr, GATE_UP: tl.constexpr):
    """Where the scale of a block lies, in the scales of an expert with `stored_blocks` a row, pads included."""
    if LAYOUT == "logical":
        place = row * stored_blocks + block
    else:
        if LAYOUT == "a16w4" and GATE_UP:
            half = rows // 2
            tile = (row % half) // 16
            side = row // half
        else:
            tile = row // 32
            side = row % 32 // 16
        place = tile * stored_blocks * 32 + (block // 8) * 256 + (block % 4) * 64
        place += (row % 16) * 4 + (block % 8) // 4 * 2 + side
    return place


@triton.jit
def load_words(
    matrix, row, exists, step, rows, row_bytes, WORD_BYTES: tl.constexpr, LAYOUT: tl.constexpr, GATE_UP: tl.constexpr
):
    """Words of a step.

    Args:
        matrix: pointer to the bytes of an expert's matrix.
        row: int32 [ROWS] rows of the matrix.
        exists: [ROWS] whether they are there; codes of the others are 0, and so are those beyond the last column.
        step: which 128 columns.
        WORD_BYTES: 4 or 8.

    Returns:
        int32 or int64 [ROWS, 16].
    """
    word = step * _STEP_WORDS + tl.arange(0, _STEP_WORDS)
    row_words = row_bytes // WORD_BYTES
    place = _word_place(row[:, None], word[None, :], rows, row_words, 16 // WORD_BYTES, LAYOUT, GATE_UP)
    inside = exists[:, None] & (word < row_words)[None, :]
    if WORD_BYTES == 4:
        words = tl.load(matrix.to(tl.pointer_type(tl.int32), bitcast=True) + place, mask=inside, other=0)
    else:
        words = tl.load(matrix.to(tl.pointer_type(tl.int64), bitcast=True) + place, mask=inside, other=0)
    return words


@triton.jit
def load_scales(
    scales, row, exists, step, rows, blocks, stored_blocks,
    ALIGNED: tl.constexpr, LAYOUT: tl.constexpr, GATE_UP: tl.constexpr,
):  # fmt: skip
    """e8m0 bytes of the words of a step, int32 [ROWS, 16]; what is not there has the byte of the scale 1.

    Args:
        scales: pointer to the scales of an expert.
        ALIGNED: whether each row's scales of a step begin at a multiple of four bytes (logical layout only).
    """
    word = tl.arange(0, _STEP_WORDS)
    if ALIGNED:
        wide = scales.to(tl.pointer_type(tl.int32), bitcast=True)
        four = tl.load(wide + (row * stored_blocks) // 4 + step, mask=exists, other=0x7F7F7F7F)
        byte = (four[:, None] >> (word // _BLOCK_WORDS * 8)[None, :]) & 0xFF
    else:
        block = step * _STEP_BLOCKS + word // _BLOCK_WORDS
        place = _scale_place(row[:, None], block[None, :], rows, stored_blocks, LAYOUT, GATE_UP)
        inside = exists[:, None] & (block < blocks)[None, :]
        byte = tl.load(scales + place, mask=inside, other=127).to(tl.int32)
    return byte


@triton.jit
def plane_of(words, PLACE: tl.constexpr, FORMAT: tl.constexpr):
    """fp32 elements at one place of the words, exact."""
    if FORMAT == "mxfp4":
        element = _element((words >> (4 * PLACE)) & 0xF, 4, 1, 1, 0, 0)
    else:
        code = ((words >> (8 * PLACE)) & 0xFF).to(tl.int32)
        if FORMAT == "mxfp6_e2m3":
            element = _element(code & 0x3F, 6, 3, 1, 0, 0)
        elif FORMAT == "mxfp6_e3m2":
            element = _element(code & 0x3F, 6, 2, 3, 0, 0)
        elif FORMAT == "mxfp8":
            element = _element(code, 8, 3, 7, 0x7F, 0x7F)
        else:  # mxfp8_e5m2
            element = _element(code, 8, 2, 15, 0x7C, 0x7D)
    return element


@triton.jit
def _element(
    code, BITS: tl.constexpr, MANTISSA: tl.constexpr, BIAS: tl.constexpr, FIRST_SPECIAL: tl.constexpr,
    FIRST_NAN: tl.constexpr,
):  # fmt: skip
    """Values of codes of BITS bits; magnitudes from FIRST_SPECIAL on are Inf and from FIRST_NAN on NaN (0: none are).

    The bits of exponent and mantissa at their place in an fp32 number are the element 2^(127 - BIAS) smaller, subnormal
    elements included: a multiplication by a power of two gives it exactly.
    """
    magnitude = code & ((1 << (BITS - 1)) - 1)
    sign = (code & (1 << (BITS - 1))) << (32 - BITS)
    bits = sign | (magnitude << (23 - MANTISSA))
    value = bits.to(tl.float32, bitcast=True) * (2.0 ** (127 - BIAS))
    if FIRST_SPECIAL != 0:
        value = tl.where(magnitude >= FIRST_SPECIAL, value * float("inf"), value)
        value = tl.where(magnitude >= FIRST_NAN, float("nan"), value)
    return value
