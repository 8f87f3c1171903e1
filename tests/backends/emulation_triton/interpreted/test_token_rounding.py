"""Tokens round to the bits of `formats.qdq`, for every scale rule and for values of every kind."""

import pytest
import torch

import aiter_compat as ac
from aiter_compat.backends.emulation.triton_path.kernels.token_rounding import round_tokens
from aiter_compat.profiles.choices import SCALE_RULES

COLUMNS = 160


def tokens_of_every_kind():
    x = torch.randn(9, COLUMNS, generator=torch.Generator().manual_seed(0))
    x[1, :32] = 0.0
    x[1, 5] = -0.0
    x[2] *= 1e-3
    x[3, 32:64] *= 2.0**26  # as far apart as exponents of e5m2 reach
    x[4, :32] *= 2.0**-40  # farther
    x[5] = 0.0
    x[6, 3] = float("inf")
    x[6, 40] = float("nan")
    x[7] *= 1e-39  # subnormal
    x[8] *= 1e37
    steps = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0])  # ties, where the scale is 1
    x[0, :32] = torch.cat([steps, -steps, steps, -steps])
    return x


class Rounded:
    """What `round_tokens` writes for tokens with one slot each.

    Args:
        x: fp32 [M, COLUMNS].
        rule: scale rule.
        floor: smallest maximum of a block.
        rows: int32 [M], rows that are placed already; None to let the kernel place them.
    """

    def __init__(self, x, rule, floor, rows=None):
        tokens = x.shape[0]

        def numbers():
            return torch.zeros(tokens, dtype=torch.int32)

        self.codes = torch.zeros(tokens, COLUMNS, dtype=torch.uint8)
        self.scales = torch.full((COLUMNS // 32, tokens), -1.0)
        self.bases = numbers()
        self.row_of_slot = numbers() if rows is None else rows.clone()
        self.apart, self.inner = torch.zeros(2, tokens, dtype=torch.uint8) + 3
        round_tokens[(tokens + (rows is None),)](
            x, x.stride(0), torch.zeros(tokens, 1, dtype=torch.int32), torch.ones(tokens, 1), numbers(), numbers(),
            self.codes.view(torch.int32), self.scales, tokens, self.bases, self.apart, self.inner,
            numbers(), self.row_of_slot,
            numbers(), numbers(), numbers(), 2, numbers(), numbers(), numbers(), 2, tokens, tokens, 0, 1, COLUMNS,
            floor,
            CHOICES=1, BLOCKS=8, SLOTS=16, EXPERTS=1, TOKENS=8, TOKENS_2=8, PLACED=rows is not None, MASKED=False,
            SKIP_ZERO=True, LIMITED=False, RULE=rule,
        )  # fmt: skip


@pytest.mark.parametrize("rule", SCALE_RULES)
@pytest.mark.parametrize("floor", [0.0, 1e-10])
def test_codes_and_scales_give_the_rounded_tokens(rule, floor):
    x = tokens_of_every_kind()
    tokens = x.shape[0]
    made = Rounded(x, rule, floor)
    assert torch.equal(made.row_of_slot, torch.arange(tokens, dtype=torch.int32))
    blocks = made.codes.view(torch.float8_e5m2).float().view(tokens, -1, 2, 16).transpose(2, 3).reshape(tokens, -1, 32)
    base = torch.ldexp(torch.ones(tokens), made.bases - 127)
    read = torch.where(made.apart.bool(), made.scales, base).t()
    profile = ac.numerics("aiter-0.1.15", mxfp4_scale_rule=rule, block_amax_floor=floor)
    rounded = ac.qdq(x, "mxfp4", profile, dtype=torch.float32).view(tokens, -1, 32)
    torch.testing.assert_close(blocks * read.unsqueeze(2), rounded, rtol=0, atol=0, equal_nan=True)
    assert not made.inner.any()
    assert made.apart[[4, 6]].all()
    assert not made.apart[[0, 1, 2, 3, 5]].any()


def test_tokens_go_to_rows_that_were_placed_before():
    x = tokens_of_every_kind()
    rows = torch.tensor([7, 3, -1, 0, 5, 2, 6, 1, 4], dtype=torch.int32)  # the third token has no row, row 8 no token
    own, placed = Rounded(x, "nearest", 0.0), Rounded(x, "nearest", 0.0, rows)
    assert torch.equal(placed.row_of_slot, rows)
    here = rows >= 0
    to = rows[here].long()
    for written in ("codes", "bases", "apart", "inner"):
        assert torch.equal(getattr(placed, written)[to], getattr(own, written)[here])
    torch.testing.assert_close(placed.scales[:, to], own.scales[:, here], rtol=0, atol=0, equal_nan=True)
    assert placed.apart[8] == 3  # as it was
