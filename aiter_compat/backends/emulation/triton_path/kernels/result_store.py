"""How a tile of the second product leaves: row by row from registers, or as a box through shared memory."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma

from aiter_compat.backends.emulation.triton_path.kernels.product_loop import warp_rows

_BOX_FEATURES = gl.constexpr(32)  # 128 bytes, the widest row that the copy engine swizzles


@gluon.constexpr_function
def _pair_layout(warps, tokens):
    """Layout of a product whose rows are in their order again: a thread has pairs of neighbours."""
    registers = [[1, 0], [0, 1]] + [[0, 8 << i] for i in range(tokens.bit_length() - 4)]
    return gl.DistributedLinearLayout(
        reg_bases=registers,
        lane_bases=[[0, 2], [0, 4], [2, 0], [4, 0], [8, 0]],
        warp_bases=warp_rows(warps),
        block_bases=[],
        shape=[16 * warps, tokens],
    )


@gluon.jit
def own_row(place):
    """Which row of a tile lies at a place of `boxes.paired_boxes`."""
    return place // 16 * 16 + place % 8 * 2 + place % 16 // 8


@gluon.jit
def _in_order(values, WARPS: gl.constexpr):
    """[ROWS, N] values of weights that came in paired boxes, their rows in order."""
    rows: gl.constexpr = values.shape[0]
    tokens: gl.constexpr = values.shape[1]
    ordered = gl.permute(gl.reshape(values, [rows // 16, 2, 8, tokens]), (0, 2, 1, 3))
    return gl.convert_layout(gl.reshape(ordered, [rows, tokens]), _pair_layout(WARPS, tokens))


@gluon.jit
def store_rows(values, results, first_feature, features, numbers_smem, WARPS: gl.constexpr):
    """Store a tile from registers.

    Args:
        values: fp32 [ROWS, N].
        results: pointer to fp32 [rows, features].
        numbers_smem: int32 [N] in shared memory: rows of the results, -1 for none.
    """
    stored = _in_order(values, WARPS)
    pairs: gl.constexpr = stored.type.layout
    feature = first_feature + gl.arange(0, stored.shape[0], gl.SliceLayout(1, pairs))
    to_row = numbers_smem.load(gl.SliceLayout(0, pairs))
    # Without signs: one instruction multiplies 32-bit numbers to a 64-bit one.
    offset = to_row.to(gl.uint32).to(gl.uint64) * features.to(gl.uint32).to(gl.uint64)
    inside = (to_row >= 0)[None, :] & (feature < features)[:, None]
    gl.store((results + feature)[:, None] + offset[None, :], stored, mask=inside)


@gluon.jit
def open_box(boxes):
    """Shared memory that tiles leave through.

    Args:
        boxes: descriptor from `boxes.feature_boxes`.
    """
    return gl.allocate_shared_memory(gl.float32, boxes.block_shape, boxes.layout)


@gluon.jit
def store_box(values, boxes, box_smem, first_feature, first_row, WARPS: gl.constexpr):
    """Begin to store a whole tile; `box_left` waits for the last one.

    Registers are free once the tile is in shared memory, and it leaves while the next one is computed: stores from
    registers took a fifth of the second product's time where it has few columns.

    Args:
        values: fp32 [ROWS, TOKENS].
        first_feature, first_row: where the tile belongs.
    """
    rows: gl.constexpr = values.shape[0]
    tokens: gl.constexpr = values.shape[1]
    stored = _in_order(values, WARPS)
    tma.store_wait(0)
    gl.thread_barrier()
    box_smem.store(gl.permute(gl.reshape(stored, [rows // _BOX_FEATURES, _BOX_FEATURES, tokens]), (0, 2, 1)))
    fence_async_shared()
    gl.thread_barrier()
    tma.async_copy_shared_to_global(boxes, [first_feature // _BOX_FEATURES, first_row, 0], box_smem)


@gluon.jit
def box_left():
    """Wait until shared memory is no longer read."""
    tma.store_wait(0)
