"""Products of MXFP4 weights with bf16 activations on Hopper's tensor cores.

Weights are decoded in registers, code times scale, which is exact in bf16; the activations' tile is read from shared
memory as it lies (`plain_rows` has its order of columns). A warpgroup multiplies 64 rows of weights; one more warp
fetches operands. For activations that are not MXFP4, which the exact products of `product_loop` do not take.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from aiter_compat.backends.emulation.triton_path.kernels.operand_fetch import open_barriers
from aiter_compat.backends.emulation.triton_path.kernels.product_loop import warp_rows

_WORDS = gl.constexpr(16)  # of a plane: 128 columns
_BOX_COLUMNS = gl.constexpr(64)  # of bf16 in a swizzled row of 128 bytes: four planes


@gluon.jit
def open_wide_buffers(
    weights, rows, ROWS: gl.constexpr, TOKENS: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr
):
    """Shared memory for STAGES steps of the operands, and the barriers that say when a stage is full and free."""
    weight_smem = gl.allocate_shared_memory(gl.int32, [STAGES, ROWS, STEP // 8], weights.layout)
    boxes: gl.constexpr = STEP // _BOX_COLUMNS
    row_smem = gl.allocate_shared_memory(gl.bfloat16, [boxes * STAGES, TOKENS, _BOX_COLUMNS], rows.layout)
    full, free = open_barriers(STAGES)
    return weight_smem, row_smem, full, free


@gluon.jit
def fetch_wide(
    weights, rows, weight_smem, row_smem, full, free, first_row, second_row, first_word, second_word, slot, steps,
    repeats, ROWS: gl.constexpr, TOKENS: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    """The fetching warp: keeps STAGES steps of both operands on their way, from one tile of features to the next."""
    half: gl.constexpr = ROWS // 2
    boxes: gl.constexpr = STEP // _BOX_COLUMNS
    turn = 0
    for repeat in range(repeats):
        for step in range(steps):
            stage = turn % STAGES
            mbarrier.wait(free.index(stage), ((turn // STAGES) & 1) ^ 1)
            ready = full.index(stage)
            mbarrier.expect(ready, ROWS * (STEP // 2) + TOKENS * STEP * 2)
            both = weight_smem.index(stage)
            below = repeat * ROWS
            word = step * (STEP // 8)
            tma.async_copy_global_to_shared(weights, [first_row + below, first_word + word], ready, both.slice(0, half))
            tma.async_copy_global_to_shared(
                weights, [second_row + below, second_word + word], ready, both.slice(half, half)
            )
            for box in gl.static_range(boxes):
                tma.async_copy_global_to_shared(
                    rows, [slot, step * STEP + box * _BOX_COLUMNS], ready, row_smem.index(boxes * stage + box)
                )
            turn += 1


@gluon.constexpr_function
def wide_layout(warps, tokens):
    """Layout of a [16 * warps, tokens] product."""
    return gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[warps, 1], instr_shape=[16, tokens, 16])


@gluon.constexpr_function
def _word_layout(rows, warps):
    """Layout of [rows, 16] words in which each thread's codes are the elements that the tensor cores want of it."""
    return gl.DistributedLinearLayout(
        reg_bases=[[0, 1], [8, 0], [0, 8]],
        lane_bases=[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
        warp_bases=warp_rows(warps),
        block_bases=[],
        shape=[rows, 16],
    )


@gluon.constexpr_function
def _decoding():
    """PTX that decodes a pair of words: byte q of both, a sign at bit 15 of each half, a magnitude at bits 8 to 6.

    There the magnitude is 2^-126 of its value, so two multiplications follow: by 2^126 and by the scale.
    """
    lines = [
        "{",
        ".reg .b32 t, u, s, least, none, huge;",
        "mov.b32 least, 0x00400040;",
        "mov.b32 none, 0x80008000;",
        "mov.b32 huge, 0x7E807E80;",
        "max.bf16x2 s, $10, least;",
        # Infinity, which byte 255 gives, times 0 is NaN; anything else stays.
        "fma.rn.bf16x2 s, s, none, s;",
    ]
    for q in range(4):
        selector = (4 + q) << 12 | (4 + q) << 8 | q << 4 | q
        lines.append(f"prmt.b32 t, $8, $9, {selector:#x};")
        for plane, sign_shift, magnitude_shift in ((2 * q, 4, 6), (2 * q + 1, 0, 2)):
            lines.append(f"shl.b32 u, t, {magnitude_shift};")
            lines.append("and.b32 u, u, 0x01C001C0;")
            if sign_shift:
                lines.append(f"shl.b32 ${plane}, t, {sign_shift};")
                lines.append(f"lop3.b32 ${plane}, ${plane}, 0x80008000, u, 0xEA;")
            else:
                lines.append(f"lop3.b32 ${plane}, t, 0x80008000, u, 0xEA;")
            lines.append(f"mul.rn.bf16x2 ${plane}, ${plane}, huge;")
            lines.append(f"mul.rn.bf16x2 ${plane}, ${plane}, s;")
    return "\n".join([*lines, "}"])


@gluon.jit
def _planes(words, scales):
    """Eight bf16 [ROWS, 16] planes of words, times scales whose byte is in both halves at bits 14 to 7."""
    return gl.inline_asm_elementwise(
        _decoding(),
        "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,r,r,r,r",
        [words, scales],
        dtype=(
            gl.bfloat16, gl.bfloat16, gl.bfloat16, gl.bfloat16, gl.bfloat16, gl.bfloat16, gl.bfloat16, gl.bfloat16,
        ),
        is_pure=True,
        pack=2,
    )  # fmt: skip


@gluon.jit
def _decoded(stored, four, shift, LAYOUT: gl.constexpr):
    """Planes of a [ROWS, 16] view of stored words; `four` holds the scales of each row, shifted as `shift` says."""
    byte = (four[:, None] >> shift[None, :]) & 0xFF
    return _planes(stored.load(LAYOUT), byte * 0x00800080)


@gluon.jit
def _scale_word(scales, offsets, number, blocks, ALIGNED: gl.constexpr):
    """e8m0 bytes of the four blocks of a step of 128 columns, of each row, in one integer."""
    if ALIGNED:
        wide = scales.to(gl.pointer_type(gl.int32), bitcast=True)
        word = gl.load(wide + offsets // 4 + number, mask=number * 4 < blocks, other=0)
    else:
        word = gl.zeros_like(offsets)
        for block in gl.static_range(4):
            here = number * 4 + block
            byte = gl.load(scales + offsets + here, mask=here < blocks, other=0).to(gl.int32)
            word = word | (byte << (8 * block))
    return word


@gluon.jit
def wide_product(
    weight_smem, row_smem, full, free, scales, offsets, blocks, steps, turn,
    ROWS: gl.constexpr, N: gl.constexpr, STEP: gl.constexpr, STAGES: gl.constexpr, ALIGNED: gl.constexpr,
    WARPS: gl.constexpr,
):  # fmt: skip
    """[ROWS, N] fp32 product of the first N rows of a stage.

    Args:
        scales: pointer to the e8m0 bytes.
        offsets: int32 [ROWS] where those of each row begin, in any layout.
        blocks: how many there are in a row.
        steps: of STEP columns.
        turn: how many steps came before.
    """
    layout: gl.constexpr = wide_layout(WARPS, N)
    of_words: gl.constexpr = _word_layout(ROWS, WARPS)
    operand: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=layout, k_width=2)
    parts: gl.constexpr = STEP // 128
    boxes: gl.constexpr = STEP // _BOX_COLUMNS
    sums = gl.zeros([ROWS, N], gl.float32, layout)
    places = gl.convert_layout(offsets, gl.SliceLayout(1, of_words))
    shift = gl.arange(0, _WORDS, gl.SliceLayout(0, of_words)) // 4 * 8
    four = _scale_word(scales, places, 0, blocks, ALIGNED)
    following = _scale_word(scales, places, 1, blocks, ALIGNED)
    mbarrier.wait(full.index(turn % STAGES), (turn // STAGES) & 1)
    planes = _decoded(weight_smem.index(turn % STAGES).slice(0, _WORDS, dim=1), four, shift, of_words)
    for step in range(steps):
        stage = turn % STAGES
        for part in gl.static_range(parts):
            pending = sums
            for plane in gl.static_range(8):
                left = gl.convert_layout(planes[plane], operand, assert_trivial=True)
                box = row_smem.index(boxes * stage + part * 2 + plane // 4)
                right = box.slice(0, N).slice(plane % 4 * 16, 16, dim=1).permute((1, 0))
                pending = warpgroup_mma(left, right, pending, is_async=True)
            # The next codes are decoded while these are multiplied.
            four = following
            following = _scale_word(scales, places, step * parts + part + 2, blocks, ALIGNED)
            if part + 1 < parts:
                planes = _decoded(
                    weight_smem.index(stage).slice((part + 1) * _WORDS, _WORDS, dim=1), four, shift, of_words
                )
            else:
                later = turn + 1
                if step + 1 < steps:
                    mbarrier.wait(full.index(later % STAGES), (later // STAGES) & 1)
                planes = _decoded(weight_smem.index(later % STAGES).slice(0, _WORDS, dim=1), four, shift, of_words)
            sums = warpgroup_mma_wait(0, deps=[pending])
        mbarrier.arrive(free.index(stage))
        turn += 1
    return sums
