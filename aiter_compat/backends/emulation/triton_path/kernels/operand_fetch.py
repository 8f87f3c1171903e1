"""Operands of the exact products on their way into shared memory, ahead of the warps that multiply."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from aiter_compat.backends.emulation.triton_path.kernels.rows_of_tile import APART_TOKENS
from aiter_compat.backends.emulation.triton_path.tile_choice import STEP_COLUMNS

_STEP = gl.constexpr(STEP_COLUMNS)
_STEP_BYTES = gl.constexpr(STEP_COLUMNS // 2)
_HALF = gl.constexpr(STEP_COLUMNS // 2)  # as many columns as a swizzled row of e5m2 codes holds
_SCALE_BYTES = gl.constexpr(16)  # of two steps: the least that the copy engine fetches of a row
_SCALE_LAYOUT = gl.constexpr(gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0]))
_SCALE_BOX = gl.constexpr(gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=8, rank=2))
_WEIGHT_LAYOUT = gl.constexpr(gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=2))


@gluon.jit
def open_buffers(
    rows,
    scales,
    ROWS: gl.constexpr,
    TOKENS: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    RESIDENT: gl.constexpr = 0,
):
    """Shared memory for STAGES steps of the operands, and the barriers that say when a stage is full and free.

    Args:
        rows: descriptor of the activations.
        scales: of the weights: a pointer, or SCALES "fetched", a descriptor.
        RESIDENT: 0, or how many steps there are, all of whose activations stay while the weights change.

    Returns:
        Weights, activations and scales (`scales` itself unless they are fetched), full and free barriers.
    """
    weight_smem = gl.allocate_shared_memory(gl.uint8, [STAGES, ROWS, _STEP_BYTES], _WEIGHT_LAYOUT)
    row_stages: gl.constexpr = STAGES if RESIDENT == 0 else RESIDENT
    row_smem = gl.allocate_shared_memory(gl.float8e5, [2 * row_stages, TOKENS, _HALF], rows.layout)
    if SCALES == "fetched":
        boxed = gl.allocate_shared_memory(gl.uint8, [STAGES, ROWS, _SCALE_BYTES], _SCALE_BOX)
        scale_smem = boxed._reinterpret(gl.int32, [STAGES, ROWS, _SCALE_BYTES // 4], _SCALE_LAYOUT)
    else:
        scale_smem = scales
    full, free = open_barriers(STAGES)
    return weight_smem, row_smem, scale_smem, full, free


@gluon.jit
def open_barriers(STAGES: gl.constexpr):
    """The barriers that say when a stage is full, and when it is free."""
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(free.index(stage), count=1)
    fence_async_shared()
    return full, free


@gluon.jit
def _fetch_rows(rows, row, step, ready, row_smem, place):
    """Both halves of a step's activations."""
    column = step * _STEP
    tma.async_copy_global_to_shared(rows, [row, column], ready, row_smem.index(2 * place))
    tma.async_copy_global_to_shared(rows, [row, column + _HALF], ready, row_smem.index(2 * place + 1))


@gluon.jit
def _fetch_weights(
    matrix, both, ready, first_row, second_row, first_column, second_column, PAIRED: gl.constexpr, HALF: gl.constexpr
):
    """A box of HALF rows to the first half of shared memory and one to the second, or PAIRED one box for both."""
    if PAIRED:
        whole = both._reinterpret(gl.uint8, matrix.block_shape, matrix.layout)
        tma.async_copy_global_to_shared(matrix, [first_row // 16, 0, 0, first_column], ready, whole)
    else:
        tma.async_copy_global_to_shared(matrix, [first_row, first_column], ready, both.slice(0, HALF))
        tma.async_copy_global_to_shared(matrix, [second_row, second_column], ready, both.slice(HALF, HALF))


@gluon.jit
def fetch(
    weights,
    rows,
    scales,
    weight_smem,
    row_smem,
    scale_smem,
    full,
    free,
    first_row,
    second_row,
    first_column,
    second_column,
    slot,
    first_step,
    last_step,
    repeats,
    passes,
    PAIRED: gl.constexpr,
    ROWS: gl.constexpr,
    TOKENS: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    RESIDENT: gl.constexpr = 0,
):
    """The fetching warp: keeps STAGES steps of both operands on their way, from one tile of features to the next.

    All of it `passes` times, for APART_TOKENS rows after the other. The weights come in two halves; PAIRED in one box
    that `boxes.paired_boxes` describes. SCALES "fetched": so do their scales, at the same rows and a sixteenth of the
    bytes. RESIDENT as for `open_buffers`: activations come with the first tile alone.
    """
    half: gl.constexpr = ROWS // 2
    scale_bytes: gl.constexpr = _SCALE_BYTES if SCALES == "fetched" else 0
    weight_bytes: gl.constexpr = ROWS * (_STEP_BYTES + scale_bytes)
    turn = 0
    for number in range(passes):
        row = slot + number * APART_TOKENS
        if RESIDENT > 0:  # noqa: SIM102 - the compiler's condition, and the program's
            if number > 0:
                # The rows of the pass before are no longer read once its last step has been.
                mbarrier.wait(free.index((turn - 1) % STAGES), ((turn - 1) // STAGES) & 1)
        for repeat in range(repeats):
            for step in range(first_step, last_step):
                stage = turn % STAGES
                mbarrier.wait(free.index(stage), ((turn // STAGES) & 1) ^ 1)
                ready = full.index(stage)
                if RESIDENT == 0:
                    mbarrier.expect(ready, weight_bytes + TOKENS * _STEP)
                    _fetch_rows(rows, row, step, ready, row_smem, stage)
                elif repeat == 0:
                    mbarrier.expect(ready, weight_bytes + TOKENS * _STEP)
                    _fetch_rows(rows, row, step, ready, row_smem, step)
                else:
                    mbarrier.expect(ready, weight_bytes)
                below = repeat * ROWS
                bytes_from = step * _STEP_BYTES
                _fetch_weights(
                    weights, weight_smem.index(stage), ready, first_row + below, second_row + below,
                    first_column + bytes_from, second_column + bytes_from, PAIRED, half,
                )  # fmt: skip
                if SCALES == "fetched":
                    scales_from = step // 2 * _SCALE_BYTES
                    of_stage = scale_smem.index(stage)._reinterpret(gl.uint8, [ROWS, _SCALE_BYTES], _SCALE_BOX)
                    _fetch_weights(
                        scales, of_stage, ready, first_row + below, second_row + below,
                        first_column // 16 + scales_from, second_column // 16 + scales_from, PAIRED, half,
                    )  # fmt: skip
                turn += 1
