"""What both products ask about the rows of a tile."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

INNER_BASE = 123
"""e8m0 byte that the scales of the second rounding are counted from: blocks with maxima of some 2^-17 to 2^11."""


@gluon.jit
def any_apart(apart_rows, slot, slots, TOKENS: gl.constexpr, WARPS: gl.constexpr):
    """Whether a row of the tile has blocks that keep their own scales."""
    row = slot + gl.arange(0, TOKENS, gl.BlockedLayout([1], [32], [WARPS], [0]))
    return gl.max(gl.load(apart_rows + row, mask=row < slots, other=0).to(gl.int32), axis=0)


@gluon.jit
def is_size(held, SIZE: gl.constexpr, LARGEST: gl.constexpr, IS_LEAST: gl.constexpr):
    """Whether SIZE is the size for a tile that holds so many rows."""
    fits = (held <= SIZE) | (SIZE == LARGEST)
    if not IS_LEAST:
        fits = fits & (held > SIZE // 2)
    return fits


@gluon.jit
def passes_of(apart, held, TOKENS: gl.constexpr, AT_ONCE: gl.constexpr):
    """How many times a tile that holds so many rows is gone through."""
    return gl.where(apart != 0, (gl.minimum(held, TOKENS) + AT_ONCE - 1) // AT_ONCE, 1)
