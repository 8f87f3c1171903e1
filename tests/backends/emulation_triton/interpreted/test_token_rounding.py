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


@pytest.mark.parametrize("rule", SCALE_RULES)
@pytest.mark.parametrize("floor", [0.0, 1e-10])
def test_codes_and_scales_give_the_rounded_tokens(rule, floor):
    x = tokens_of_every_kind()
    tokens = x.shape[0]

    def numbers():
        return torch.zeros(tokens, dtype=torch.int32)

    codes = torch.zeros(tokens, COLUMNS, dtype=torch.uint8)
    scales = torch.full((COLUMNS // 32, tokens), -1.0)
    bases, row_of_slot = numbers(), numbers()
    apart, inner = torch.zeros(2, tokens, dtype=torch.uint8) + 3
    ones = torch.ones(tokens, 1)
    round_tokens[(tokens + 1,)](
        x, x.stride(0), torch.zeros(tokens, 1, dtype=torch.int32), ones, numbers(), numbers(),
        codes.view(torch.int32), scales, tokens, bases, apart, inner, numbers(), row_of_slot,
        numbers(), numbers(), numbers(), 2, numbers(), numbers(), numbers(), 2, tokens, tokens, 0, 1, COLUMNS, floor,
        CHOICES=1, BLOCKS=8, SLOTS=16, EXPERTS=1, TOKENS=8, TOKENS_2=8, PLACED=False, MASKED=False,
        SKIP_ZERO=True, LIMITED=False, RULE=rule,
    )  # fmt: skip
    assert torch.equal(row_of_slot, torch.arange(tokens, dtype=torch.int32))
    blocks = codes.view(torch.float8_e5m2).float().view(tokens, -1, 2, 16).transpose(2, 3).reshape(tokens, -1, 32)
    base = torch.ldexp(torch.ones(tokens), bases - 127)
    read = torch.where(apart.bool(), scales, base).t()
    profile = ac.numerics("aiter-0.1.15", mxfp4_scale_rule=rule, block_amax_floor=floor)
    rounded = ac.qdq(x, "mxfp4", profile, dtype=torch.float32).view(tokens, -1, 32)
    torch.testing.assert_close(blocks * read.unsqueeze(2), rounded, rtol=0, atol=0, equal_nan=True)
    assert not inner.any()
    assert apart[[4, 6]].all()
    assert not apart[[0, 1, 2, 3, 5]].any()
