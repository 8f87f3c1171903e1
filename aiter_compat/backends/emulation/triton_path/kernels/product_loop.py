"""Products of MXFP4 weights with MXFP4 activations on Hopper's fp8 tensor cores, exact block by block.

An e2m1 element is an e4m3 element 2^6 larger: the same bits at another place, so decoding is a few shifts. A block of
32 products is one `wgmma` instruction. Each product is a multiple of 1/4 up to 36, the sum of 32 of them needs 13 bits,
and the tensor cores keep that much relative to the largest product; so a block's dot product comes out exact, and only
the sum over the blocks rounds, in fp32, once a block. The weights' scales (powers of two) multiply there. Those of the
activations are in the exponents of their e5m2 codes already (`block_scales.fold`): a whole block shifts alike, which
changes nothing of the above. Tiles with a row whose blocks lie too far apart for that multiply both scales.

Columns of both operands lie in the order "even columns of the block, then odd ones", which is the order that the low
and high nibbles of a packed word give: weights are read as a checkpoint stores them, activations are written that way.

A program computes 64 rows of the weights for the tokens of one expert that one tile holds: in the first product the
gate rows of 32 features and their up rows. One more warp fetches operands (`operand_fetch`).

Written in Gluon, Triton's language with explicit layouts, because the layout of each register matters here. Needs
compute capability 9.0; everything else is served by the torch path.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, warpgroup_mma, warpgroup_mma_wait

from aiter_compat.backends.emulation.triton_path.kernels.block_scales import scale_value
from aiter_compat.backends.emulation.triton_path.tile_choice import STEP_COLUMNS

_STEP_BLOCKS = gl.constexpr(STEP_COLUMNS // 32)
PRODUCT_SCALE = gl.constexpr(64.0)
"""Weights as e4m3 are 2^-6 of their value."""


@gluon.jit
def _row_stage(stage, step, RESIDENT: gl.constexpr):
    """Where the activations of a step are."""
    place = step
    if RESIDENT == 0:
        place = stage
    return place


@gluon.constexpr_function
def product_layout(warps, tokens):
    """Layout of a [16 * warps, tokens] product."""
    return gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[warps, 1], instr_shape=[16, tokens, 32])


@gluon.constexpr_function
def warp_rows(warps):
    """Bases of the rows of a product that warps share, sixteen each."""
    return [[16 << i, 0] for i in range(warps.bit_length() - 1)]


@gluon.jit
def _as_e4m3(packed):
    """Low and high nibbles of packed e2m1 bytes, as e4m3 bytes."""
    return gl.inline_asm_elementwise(
        """{
        .reg .b32 sign_low, low, high, sign_high;
        shl.b32 sign_low, $2, 4;
        shl.b32 low, $2, 2;
        shr.u32 high, $2, 2;
        and.b32 sign_low, sign_low, 0x80808080;
        and.b32 sign_high, $2, 0x80808080;
        lop3.b32 $0, low, 0x1C1C1C1C, sign_low, 0xEA;
        lop3.b32 $1, high, 0x1C1C1C1C, sign_high, 0xEA;
        }""",
        "=r,=r,r",
        [packed],
        dtype=(gl.uint8, gl.uint8),
        is_pure=True,
        pack=4,
    )


@gluon.jit
def _decoded(weight_smem, stage, BLOCK: gl.constexpr, ROWS: gl.constexpr, N: gl.constexpr, WARPS: gl.constexpr):
    """One block of the weights of a stage, [ROWS, 32], as the left operand of a product of N tokens."""
    # A thread holds the packed word of its quarter of the block, for the two rows that the operand gives it.
    words: gl.constexpr = gl.DistributedLinearLayout(
        reg_bases=[[0, 1], [0, 2], [8, 0]],
        lane_bases=[[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]],
        warp_bases=warp_rows(WARPS),
        block_bases=[],
        shape=[ROWS, 16],
    )
    operand: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=product_layout(WARPS, N), k_width=4)
    low, high = _as_e4m3(weight_smem.index(stage).slice(BLOCK * 16, 16, dim=1).load(words))
    both = gl.reshape(gl.permute(gl.join(low, high), (0, 2, 1)), [ROWS, 32])
    return gl.convert_layout(both.to(gl.float8e4nv, bitcast=True), operand, assert_trivial=True)


@gluon.jit
def _started(left, row_smem, place, zeros, BLOCK: gl.constexpr, FIRST: gl.constexpr):
    """Start one block's dot products: its weights times the activations at `place`, from token FIRST on."""
    tokens: gl.constexpr = zeros.shape[1]
    right = row_smem.index(2 * place + BLOCK // 4).slice(FIRST, tokens).slice(BLOCK % 4 * 32, 32, dim=1).permute((1, 0))
    return warpgroup_mma(left, right, zeros, use_acc=False, is_async=True)


@gluon.jit
def _scale_words(scales, offsets, step, blocks, SCALES: gl.constexpr, LAYOUT: gl.constexpr):
    """The e8m0 bytes of a step, of each row: of its first four blocks in one integer, of the others in a second.

    Args:
        scales: pointer to the bytes.
        offsets: int32 [ROWS] where those of each row begin, in the layout of `_word_offsets`.
        SCALES: "words" where rows begin at multiples of 4 bytes, else "bytes".

    Returns:
        int32 [ROWS] twice, bytes beyond the last block 0.
    """
    rows: gl.constexpr = offsets.shape[0]
    pair = gl.arange(0, 2, gl.SliceLayout(0, offsets.type.layout.parent))
    first = step * _STEP_BLOCKS + 4 * pair
    if SCALES == "words":
        wide = scales.to(gl.pointer_type(gl.int32), bitcast=True)
        place = (offsets >> 2)[:, None] + (step * 2 + pair)[None, :]
        loaded = gl.load(wide + place, mask=(first < blocks)[None, :], other=0)
    else:
        loaded = gl.full([rows, 2], 0, gl.int32, offsets.type.layout.parent)
        for block in gl.static_range(4):
            here = (first + block)[None, :]
            byte = gl.load(scales + offsets[:, None] + here, mask=here < blocks, other=0).to(gl.int32)
            loaded = loaded | (byte << (8 * block))
    low, high = gl.split(loaded)
    return (
        gl.convert_layout(low, LAYOUT, assert_trivial=True),
        gl.convert_layout(high, LAYOUT, assert_trivial=True),
    )


@gluon.constexpr_function
def in_shared_memory(scales):
    """Whether scales that come so are in shared memory when a step begins."""
    return scales in ("fetched", "copied")


@gluon.jit
def _shared_words(scales, stage, step, SCALES: gl.constexpr, WARPS: gl.constexpr, LAYOUT: gl.constexpr):
    """The same from shared memory, which has the bytes of two steps, of which one is this."""
    if SCALES == "fetched":
        scales = scales.index(stage)
    rows: gl.constexpr = scales.shape[0]
    of_two_steps: gl.constexpr = gl.DistributedLinearLayout(
        reg_bases=[[0, 1], [0, 2], [8, 0]],
        lane_bases=[[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]],
        warp_bases=warp_rows(WARPS),
        block_bases=[],
        shape=[rows, 4],
    )
    low, high = gl.split(gl.reshape(scales.load(of_two_steps), [rows, 2, 2]))
    first_low, second_low = gl.split(low)
    first_high, second_high = gl.split(high)
    is_second = step % 2 == 1
    return (
        gl.convert_layout(gl.where(is_second, second_low, first_low), LAYOUT, assert_trivial=True),
        gl.convert_layout(gl.where(is_second, second_high, first_high), LAYOUT, assert_trivial=True),
    )


@gluon.jit
def _word_offsets(offsets, ROWS: gl.constexpr, WARPS: gl.constexpr):
    """Offsets of rows in the layout that `_scale_words` loads in: a thread has both integers of its rows."""
    pairs: gl.constexpr = gl.DistributedLinearLayout(
        reg_bases=[[0, 1], [8, 0]],
        lane_bases=[[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]],
        warp_bases=warp_rows(WARPS),
        block_bases=[],
        shape=[ROWS, 2],
    )
    return gl.convert_layout(offsets, gl.SliceLayout(1, pairs))


@gluon.jit
def _added(sums, dots, scales, BLOCK: gl.constexpr):
    """The sums with one block's dot products times the scales of the weights."""
    # `scale_value` in fewer instructions: byte 0 is the subnormal below all others, and Inf * 0 + Inf makes 255 NaN.
    if BLOCK % 4 == 3:
        bits = (scales >> 1) & 0x7F800000
    else:
        bits = (scales << (23 - BLOCK % 4 * 8)) & 0x7F800000
    scale = gl.maximum(bits, 0x400000).to(gl.float32, bitcast=True)
    scale = gl.fma(scale, gl.zeros_like(scale), scale)
    return gl.fma(dots, scale[:, None], sums)


@gluon.constexpr_function
def _summed_tokens(tokens, overlap):
    """How many tokens a tensor of sums has: with overlap and many of them, the halves have one each."""
    return tokens // 2 if overlap and tokens > 64 else tokens


@gluon.jit
def _blocks_added(
    sums,
    more_sums,
    zeros,
    weight_smem,
    row_smem,
    stage,
    place,
    low,
    high,
    FIRST: gl.constexpr,
    END: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    HALVES: gl.constexpr,
):
    """The sums with the blocks FIRST to END - 1 of a stage; `low` and `high` are the scales of the weights.

    With HALVES there are sums of one half of the tokens and of the other; without, `more_sums` is left as it is.
    """
    rows: gl.constexpr = zeros.shape[0]
    tokens: gl.constexpr = zeros.shape[1]
    left = _decoded(weight_smem, stage, FIRST, rows, tokens, WARPS)
    if HALVES:
        pending = _started(left, row_smem, place, zeros, FIRST, 0)
        for block in gl.static_range(FIRST, END):
            scales = low if block < 4 else high
            more_pending = _started(left, row_smem, place, zeros, block, tokens)
            sums = _added(sums, warpgroup_mma_wait(1, deps=[pending]), scales, block)
            if block + 1 < END:
                left = _decoded(weight_smem, stage, block + 1, rows, tokens, WARPS)
                pending = _started(left, row_smem, place, zeros, block + 1, 0)
                more_dots = warpgroup_mma_wait(1, deps=[more_pending])
            else:
                more_dots = warpgroup_mma_wait(0, deps=[more_pending])
            more_sums = _added(more_sums, more_dots, scales, block)
    elif OVERLAP:
        pending = _started(left, row_smem, place, zeros, FIRST, 0)
        for block in gl.static_range(FIRST + 1, END):
            left = _decoded(weight_smem, stage, block, rows, tokens, WARPS)
            issued = _started(left, row_smem, place, zeros, block, 0)
            dots = warpgroup_mma_wait(1, deps=[pending])
            sums = _added(sums, dots, low if block <= 4 else high, block - 1)
            pending = issued
        dots = warpgroup_mma_wait(0, deps=[pending])
        sums = _added(sums, dots, low if END <= 4 else high, END - 1)
    else:
        for block in gl.static_range(FIRST, END):
            issued = _started(left, row_smem, place, zeros, block, 0)
            if block + 1 < END:
                left = _decoded(weight_smem, stage, block + 1, rows, tokens, WARPS)
            dots = warpgroup_mma_wait(0, deps=[issued])
            sums = _added(sums, dots, low if block < 4 else high, block)
    return sums, more_sums


@gluon.jit
def multiply_folded(
    weight_smem,
    row_smem,
    full,
    free,
    scales,
    offsets,
    blocks,
    first_step,
    last_step,
    turn,
    ROWS: gl.constexpr,
    N: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    RESIDENT: gl.constexpr,
):
    """[ROWS, N] fp32 product of the first N rows of a stage, without the scales that their codes are counted from.

    Args:
        scales: pointer to the e8m0 bytes of the weights, or shared memory.
        offsets: int32 [ROWS] where those of each row begin; not read from shared memory.
        SCALES: as for `_scale_words`; or "fetched", with int32 [STAGES, ROWS, 4] for the two steps that each stage's is
            one of; or "copied", with int32 [ROWS, 4] for both steps that there are.
        HALF_LAST: half of the last step or more lies beyond the columns, and is not computed.
        OVERLAP: products run while others are added up: those of the next block, or with many tokens, those of the
            other half. Without, that is left to the other programs on the multiprocessor, of which more have room.
    """
    tokens: gl.constexpr = _summed_tokens(N, OVERLAP)
    halves: gl.constexpr = tokens < N
    layout: gl.constexpr = product_layout(WARPS, tokens)
    of_rows: gl.constexpr = gl.SliceLayout(1, layout)
    zeros = gl.zeros([ROWS, tokens], gl.float32, layout)
    sums = gl.zeros([ROWS, tokens], gl.float32, layout)
    if halves:
        more_sums = gl.zeros([ROWS, tokens], gl.float32, layout)
    else:
        more_sums = gl.to_tensor(0)
    if not in_shared_memory(SCALES):
        places = _word_offsets(offsets, ROWS, WARPS)
        low, high = _scale_words(scales, places, first_step, blocks, SCALES, of_rows)
    end = last_step - 1 if HALF_LAST else last_step
    for step in range(first_step, end):
        stage = turn % STAGES
        place = _row_stage(stage, step, RESIDENT)
        if not in_shared_memory(SCALES):
            next_low, next_high = _scale_words(scales, places, step + 1, blocks, SCALES, of_rows)
        mbarrier.wait(full.index(stage), (turn // STAGES) & 1)
        if in_shared_memory(SCALES):
            low, high = _shared_words(scales, stage, step, SCALES, WARPS, of_rows)
        sums, more_sums = _blocks_added(
            sums, more_sums, zeros, weight_smem, row_smem, stage, place, low, high,
            0, _STEP_BLOCKS, WARPS, OVERLAP, halves,
        )  # fmt: skip
        mbarrier.arrive(free.index(stage))
        turn += 1
        if not in_shared_memory(SCALES):
            low = next_low
            high = next_high
    if HALF_LAST:
        stage = turn % STAGES
        mbarrier.wait(full.index(stage), (turn // STAGES) & 1)
        if in_shared_memory(SCALES):
            low, high = _shared_words(scales, stage, end, SCALES, WARPS, of_rows)
        sums, more_sums = _blocks_added(
            sums, more_sums, zeros, weight_smem, row_smem, stage, _row_stage(stage, end, RESIDENT), low, high,
            0, _STEP_BLOCKS // 2, WARPS, OVERLAP, halves,
        )  # fmt: skip
        mbarrier.arrive(free.index(stage))
    if halves:
        both = gl.reshape(gl.permute(gl.join(sums, more_sums), (0, 2, 1)), [ROWS, N])
        sums = gl.convert_layout(both, product_layout(WARPS, N), assert_trivial=True)
    return sums


@gluon.jit
def multiply_apart(
    weight_smem,
    row_smem,
    full,
    free,
    scales,
    offsets,
    blocks,
    first_step,
    last_step,
    turn,
    row_scales,
    row_scale_stride,
    base,
    apart,
    ROWS: gl.constexpr,
    N: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    WARPS: gl.constexpr,
    RESIDENT: gl.constexpr,
):
    """[ROWS, N] fp32 product with the scales of both operands, for tiles with rows that keep their own.

    Args:
        row_scales: pointer to the first scale of the tile's first row, of fp32 [blocks, row_scale_stride].
        base: int32 [N]: e8m0 byte of the other rows, whose scales are not in memory.
        apart: [N] whether a row has scales of its own.
    """
    layout: gl.constexpr = product_layout(WARPS, N)
    sums = gl.zeros([ROWS, N], gl.float32, layout)
    zeros = gl.zeros([ROWS, N], gl.float32, layout)
    common = scale_value(base)
    columns = gl.arange(0, N, gl.SliceLayout(0, layout))
    of_rows: gl.constexpr = gl.SliceLayout(1, layout)
    if not in_shared_memory(SCALES):
        places = _word_offsets(offsets, ROWS, WARPS)
    for step in range(first_step, last_step):
        stage = turn % STAGES
        place = _row_stage(stage, step, RESIDENT)
        if not in_shared_memory(SCALES):
            low, high = _scale_words(scales, places, step, blocks, SCALES, of_rows)
        mbarrier.wait(full.index(stage), (turn // STAGES) & 1)
        if in_shared_memory(SCALES):
            low, high = _shared_words(scales, stage, step, SCALES, WARPS, of_rows)
        for block in gl.static_range(_STEP_BLOCKS):
            left = _decoded(weight_smem, stage, block, ROWS, N, WARPS)
            issued = _started(left, row_smem, place, zeros, block, 0)
            dots = warpgroup_mma_wait(0, deps=[issued])
            number = step * _STEP_BLOCKS + block
            here = apart & (number < blocks)
            own = gl.load(row_scales + number.to(gl.int64) * row_scale_stride + columns, mask=here, other=common)
            of_weights = scale_value(((low if block < 4 else high) >> (block % 4 * 8)) & 0xFF)
            sums = gl.fma(dots, of_weights[:, None] * own[None, :], sums)
        mbarrier.arrive(free.index(stage))
        turn += 1
    return sums


@gluon.jit
def scaled_product(
    weight_smem,
    row_smem,
    full,
    free,
    scales,
    offsets,
    blocks,
    first_step,
    last_step,
    turn,
    row_scales,
    row_scale_stride,
    base,
    apart,
    APART: gl.constexpr,
    ROWS: gl.constexpr,
    N: gl.constexpr,
    STAGES: gl.constexpr,
    SCALES: gl.constexpr,
    HALF_LAST: gl.constexpr,
    WARPS: gl.constexpr,
    OVERLAP: gl.constexpr,
    RESIDENT: gl.constexpr = 0,
):
    """[ROWS, N] fp32: the product but for PRODUCT_SCALE and, unless APART, the scale that its rows count from.

    Arguments as for `multiply_apart`; `turn` counts steps.
    """
    if APART:
        values = multiply_apart(
            weight_smem, row_smem, full, free, scales, offsets, blocks, first_step, last_step, turn,
            row_scales, row_scale_stride, base, apart, ROWS, N, STAGES, SCALES, WARPS, RESIDENT,
        )  # fmt: skip
    else:
        values = multiply_folded(
            weight_smem, row_smem, full, free, scales, offsets, blocks, first_step, last_step, turn,
            ROWS, N, STAGES, SCALES, HALF_LAST, WARPS, OVERLAP, RESIDENT,
        )  # fmt: skip
    return values
