"""Tokens are rounded to the bits of `formats.qdq` and lie, in bf16 terms, in the order that unpacking weights gives."""

import pytest
import torch
import triton
import triton.language as tl

import aiter_compat as ac
from aiter_compat.backends.emulation.expert_matrices import MX_FORMATS
from aiter_compat.backends.emulation.triton_path.kernels.plain_rows import (
    plain_token_rows,
    rounded_blocks,
    slot_rows,
)
from aiter_compat.backends.emulation.triton_path.kernels.short_numbers import to_short
from aiter_compat.profiles.choices import HIP_AMAX_FLOOR, SCALE_RULES

COLUMNS, STORED = 160, 256
# The interpreter computes in numpy, which warns of what these values are there for.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


def tokens_of_every_kind(dtype=torch.float32):
    x = torch.randn(9, COLUMNS, generator=torch.Generator().manual_seed(0))
    steps = torch.tensor([0.0625, 0.1875, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0, 6.5, 7.0, 7.5])
    steps = torch.cat([steps, torch.tensor([1.0625, 1.1875, 1.125])])  # ties of every mantissa, where the scale is 1
    x[0, :32] = torch.cat([steps, -steps])
    x[1, :32] = 0.0
    x[1, 5] = -0.0
    x[2] *= 1e-3
    x[3, 32:64] *= 2.0**26
    x[4, :32] *= 2.0**-40
    x[5] = 0.0
    x[6, 3] = float("inf")
    x[6, 40] = float("nan")
    x[7] *= 1e-39  # subnormal
    x[8] *= 1e37
    return x.to(dtype)


@triton.jit
def round_blocks(x, out, blocks, floor, BLOCKS: tl.constexpr, ROUNDING: tl.constexpr, RULE: tl.constexpr):
    block = tl.arange(0, BLOCKS)[:, None]
    at = block * 32 + tl.arange(0, 32)[None, :]
    values = rounded_blocks(tl.load(x + at, mask=block < blocks, other=0.0), 1, floor, ROUNDING, RULE)
    tl.store(out + at, values, mask=block < blocks)


def profile_of(rule, floor=0.0):
    fields = ("mxfp4_scale_rule", "mxfp6_scale_rule", "mxfp8_scale_rule", "mxfp8_e5m2_scale_rule")
    return ac.numerics("aiter-0.1.15", block_amax_floor=floor, **dict.fromkeys(fields, rule))


def assert_same_bits(result, expected):
    torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(result.signbit()[~result.isnan()], expected.signbit()[~expected.isnan()])


@pytest.mark.parametrize("name", MX_FORMATS)
@pytest.mark.parametrize(("rule", "floor"), [*((rule, 0.0) for rule in SCALE_RULES), ("even", HIP_AMAX_FLOOR)])
def test_rounding_gives_the_bits_of_qdq(name, rule, floor):
    x = tokens_of_every_kind()
    out = torch.empty_like(x)
    round_blocks[(1,)](x, out, x.numel() // 32, floor, BLOCKS=64, ROUNDING=name, RULE=rule)
    assert_same_bits(out, ac.qdq(x, name, profile_of(rule, floor), dtype=torch.float32))


def in_order(rows):
    """Columns of stored rows [..., STORED] in the order of the token's."""
    return rows.unflatten(-1, (STORED // 128, 8, 16)).transpose(-1, -2).flatten(-3)


def token_rows(x, rounding, rule, terms=1):
    rows = torch.full((terms, x.shape[0], STORED), -7.0, dtype=torch.bfloat16)
    plain_token_rows[(x.shape[0],)](
        x, x.stride(0), rows, rows.stride(0), COLUMNS, STORED, 0.0, BLOCKS=8, TERMS=terms, ROUNDING=rounding, RULE=rule
    )
    return rows


@pytest.mark.parametrize("name", MX_FORMATS)
def test_rounded_tokens_lie_in_the_order_of_planes(name):
    x = tokens_of_every_kind()[:7]
    stored = in_order(token_rows(x, name, "even")[0]).float()
    assert_same_bits(stored[:, :COLUMNS], ac.qdq(x, name, profile_of("even"), dtype=torch.float32))
    assert not stored[:, COLUMNS:].any()


@pytest.mark.parametrize(("dtype", "terms"), [(torch.bfloat16, 1), (torch.float16, 2), (torch.float32, 3)])
def test_terms_add_up_to_what_is_not_rounded(dtype, terms):
    x = tokens_of_every_kind(dtype)[[0, 1, 2, 3, 5, 6, 8]]
    stored = in_order(token_rows(x, "none", "none", terms)).float().sum(0)
    torch.testing.assert_close(stored[:, :COLUMNS], x.float(), rtol=0, atol=0, equal_nan=True)
    assert not stored[:, COLUMNS:].any()


@pytest.mark.parametrize("kind", ["bf16", "fp16"])
def test_values_are_rounded_to_a_short_dtype_as_torch_does(kind):
    x = torch.cat([tokens_of_every_kind().flatten(), torch.tensor([65519.0, 65520.0, 3.4e38, 1.00390625, 1.01171875])])
    x = torch.nn.functional.pad(x, (0, 2048 - x.numel()))
    out = torch.empty_like(x)
    shorten[(1,)](x, out, COUNT=2048, KIND=kind)
    short = torch.bfloat16 if kind == "bf16" else torch.float16
    assert_same_bits(out, x.to(short).float())


@triton.jit
def shorten(x, out, COUNT: tl.constexpr, KIND: tl.constexpr):
    at = tl.arange(0, COUNT)
    tl.store(out + at, to_short(tl.load(x + at), KIND))


@pytest.mark.parametrize("rounding", ["none", "mxfp8"])
def test_rows_of_slots_hold_their_tokens(rounding):
    x = tokens_of_every_kind(torch.bfloat16)
    x[7] = 1.0  # subnormal numbers in bf16 are what the interpreter gets wrong
    row_of_slot = torch.tensor([3, -1, 0, 7, 1, -1, -1, -1, 5, 2, 4, 6, 8, 9, 10, 11, 12, 13], dtype=torch.int32)
    rows = torch.full((row_of_slot.numel(), STORED), -7.0, dtype=torch.bfloat16)
    slot_rows[(x.shape[0],)](
        x, x.stride(0), rows, row_of_slot, COLUMNS, STORED, 0.0, CHOICES=2, BLOCKS=8, ROUNDING=rounding, RULE="even"
    )
    by_token = token_rows(x, rounding, "even")[0]
    for slot, row in enumerate(row_of_slot.tolist()):
        if row >= 0:
            torch.testing.assert_close(rows[row], by_token[slot // 2], rtol=0, atol=0, equal_nan=True)
    untouched = sorted(set(range(row_of_slot.numel())) - set(row_of_slot.tolist()))
    assert (rows[untouched] == -7).all()
