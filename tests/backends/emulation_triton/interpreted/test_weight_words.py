"""Stored words and scales are found in every layout, and each code of each format has its value."""

import pytest
import torch
import triton
import triton.language as tl

from aiter_compat import layouts
from aiter_compat.backends.emulation.element_tables import element_table
from aiter_compat.backends.emulation.expert_matrices import MX_FORMATS
from aiter_compat.backends.emulation.triton_path.kernels.weight_words import load_scales, load_words, plane_of

ROWS = 64
GATE_UP = pytest.mark.parametrize("gate_up", [False, True], ids=["one half", "gate and up"])
LAYOUTS = pytest.mark.parametrize("layout", ["logical", "shuffle_16x16", "a16w4"])


@triton.jit
def decode(words, out, COUNT: tl.constexpr, WORD_CODES: tl.constexpr, FORMAT: tl.constexpr):
    at = tl.arange(0, COUNT)
    word = tl.load(words + at)
    for place in tl.static_range(WORD_CODES):
        tl.store(out + at * WORD_CODES + place, plane_of(word, place, FORMAT))


@triton.jit
def copy_words(
    matrix, row_of, out, rows, row_bytes,
    COUNT: tl.constexpr, STEPS: tl.constexpr, WORD_BYTES: tl.constexpr, LAYOUT: tl.constexpr, GATE_UP: tl.constexpr,
):  # fmt: skip
    place = tl.arange(0, COUNT)
    row = tl.load(row_of + place)
    for step in range(STEPS):
        words = load_words(matrix, tl.maximum(row, 0), row >= 0, step, rows, row_bytes, WORD_BYTES, LAYOUT, GATE_UP)
        at = step * 16 + tl.arange(0, 16)
        tl.store(out + place[:, None] * (STEPS * 16) + at[None, :], words)


@triton.jit
def copy_scales(
    scales, row_of, out, rows, blocks, stored_blocks,
    COUNT: tl.constexpr, STEPS: tl.constexpr, ALIGNED: tl.constexpr, LAYOUT: tl.constexpr, GATE_UP: tl.constexpr,
):  # fmt: skip
    place = tl.arange(0, COUNT)
    row = tl.load(row_of + place)
    for step in range(STEPS):
        byte = load_scales(
            scales, tl.maximum(row, 0), row >= 0, step, rows, blocks, stored_blocks, ALIGNED, LAYOUT, GATE_UP
        )
        at = step * 16 + tl.arange(0, 16)
        tl.store(out + place[:, None] * (STEPS * 16) + at[None, :], byte)


def rows_asked_for():
    """Every row once in any order, some of them marked as not there."""
    row_of = torch.randperm(ROWS, generator=torch.Generator().manual_seed(3)).int()
    row_of[::7] = -1
    return row_of


def random_bytes(*shape):
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # numpy speaks of Inf and NaN
@pytest.mark.parametrize("name", MX_FORMATS)
def test_every_code_has_its_value_at_every_place_of_a_word(name):
    packed = name == "mxfp4"
    codes = torch.arange(256, dtype=torch.uint8)
    # Each byte at each place: the bytes 0 to 255, moved on by one for each place of the word.
    words = torch.stack([codes.roll(-place) for place in range(4 if packed else 8)], dim=1).contiguous()
    out = torch.empty(256, 8)
    decode[(1,)](words.view(torch.int32 if packed else torch.int64), out, 256, 8, name)
    expected = element_table(name, 2 if packed else 1)[words.long()].reshape(256, 8)
    torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(out.signbit()[~out.isnan()], expected.signbit()[~expected.isnan()])


def shuffled_weights(codes, layout, gate_up):
    if layout == "shuffle_16x16":
        return layouts.shuffle_16x16(codes)
    return layouts.shuffle_a16w4(codes, gate_up) if layout == "a16w4" else codes


@pytest.mark.parametrize(("word_bytes", "row_bytes"), [(4, 64), (4, 192), (8, 128), (8, 192)])
@GATE_UP
@LAYOUTS
def test_words_are_read_in_every_layout(layout, gate_up, word_bytes, row_bytes):
    codes = random_bytes(ROWS, row_bytes)
    row_of = rows_asked_for()
    row_words = row_bytes // word_bytes
    steps = triton.cdiv(row_words, 16)
    out = torch.full((ROWS, steps * 16), -7, dtype=torch.int64)
    copy_words[(1,)](
        shuffled_weights(codes, layout, gate_up), row_of, out, ROWS, row_bytes, ROWS, steps, word_bytes, layout, gate_up
    )
    words = codes.view(torch.int32 if word_bytes == 4 else torch.int64).long()
    expected = torch.zeros_like(out)
    expected[:, :row_words] = torch.where((row_of >= 0)[:, None], words[row_of.clamp(min=0).long()], 0)
    assert torch.equal(out, expected)


def shuffled_scales(scales, layout, gate_up):
    if layout == "shuffle_16x16":
        return layouts.shuffle_scale_e8m0(scales)
    if layout == "a16w4":
        whole = torch.nn.functional.pad(scales, (0, -scales.shape[1] % 8), value=200)  # a byte that nothing may read
        return layouts.shuffle_scale_a16w4(whole, 1, gate_up=gate_up)
    return scales


@pytest.mark.parametrize("blocks", [3, 4, 8, 10])
@GATE_UP
@LAYOUTS
def test_scales_are_read_in_every_layout(layout, gate_up, blocks):
    scales = random_bytes(ROWS, blocks)
    row_of = rows_asked_for()
    steps = triton.cdiv(blocks, 4)
    out = torch.full((ROWS, steps * 16), -7, dtype=torch.int32)
    stored_blocks = blocks if layout == "logical" else triton.cdiv(blocks, 8) * 8
    copy_scales[(1,)](
        shuffled_scales(scales, layout, gate_up), row_of, out, ROWS, blocks, stored_blocks,
        ROWS, steps, layout == "logical" and blocks % 4 == 0, layout, gate_up,
    )  # fmt: skip
    expected = torch.full((ROWS, steps * 4), 127)
    expected[:, :blocks] = torch.where((row_of >= 0)[:, None], scales[row_of.clamp(min=0).long()].long(), 127)
    # four words of a block read the block's scale
    assert torch.equal(out.long(), expected.repeat_interleave(4, dim=1))
