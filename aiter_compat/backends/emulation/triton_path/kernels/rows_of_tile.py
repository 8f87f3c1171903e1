"""What the products on Hopper ask about the rows of a tile."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

INNER_BASE = 123
"""e8m0 byte that the scales of the second rounding are counted from: blocks with maxima of some 2^-17 to 2^11."""

APART_TOKENS = gl.constexpr(8)
"""Rows that a tile with rows apart is computed with at a time: their scales take few registers then. With more of them
the assembler finds too few for the kernel, and lets nothing run beside the tensor cores in any of its loops."""


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


@gluon.jit
def row_numbers(row, feature, features, ROWS: gl.constexpr, GATED: gl.constexpr, INTERLEAVED: gl.constexpr):
    """Row of the expert's first matrix that a row of the tile is, and whether it exists."""
    if not GATED:
        own = feature + row
        exists = own < features
    else:
        half: gl.constexpr = ROWS // 2
        is_up = row // half
        own_feature = feature + row % half
        exists = own_feature < features
        if INTERLEAVED:
            own = 2 * own_feature + is_up
        else:
            own = own_feature + is_up * features
    return own, exists


@gluon.constexpr_function
def block_layout(tokens, warps, order):
    """Layout of [32, tokens]: few threads a token, each with its rows in the order that they are stored.

    Args:
        tokens: power of two.
        warps: likewise.
        order: the bits of a row number, 1 to 16; those that come first are in one thread.
    """
    sharing = max(warps * 32 // tokens, 1).bit_length() - 1
    rows_of_registers, rows_of_threads = order[: 5 - sharing], order[5 - sharing :]
    thread_columns = [1 << i for i in range(min(tokens, warps * 32).bit_length() - 1)]
    columns_of_registers = [1 << i for i in range(len(thread_columns), tokens.bit_length() - 1)]
    threads = [[0, c] for c in thread_columns] + [[r, 0] for r in rows_of_threads]
    return gl.DistributedLinearLayout(
        reg_bases=[[r, 0] for r in rows_of_registers] + [[0, c] for c in columns_of_registers],
        lane_bases=threads[:5],
        warp_bases=threads[5:],
        block_bases=[],
        shape=[32, tokens],
    )
