"""The fast MX path equals the plainly stated rules, bit for bit, whatever the blocks hold."""

import pytest
import torch

from aiter_compat.formats import dequantize, qdq, quantize
from aiter_compat.formats.catalog import find_codec
from aiter_compat.formats.mx_block import MX_BLOCK, MxCodec
from aiter_compat.formats.mx_oracle import oracle_qdq
from aiter_compat.formats.mxfp4 import unpack_nibbles
from aiter_compat.profiles import profile
from aiter_compat.profiles.choices import SCALE_RULES

MX_FORMATS = {
    "mxfp4": "mxfp4_scale_rule",
    "mxfp6_e2m3": "mxfp6_scale_rule",
    "mxfp6_e3m2": "mxfp6_scale_rule",
    "mxfp8": "mxfp8_scale_rule",
    "mxfp8_e5m2": "mxfp8_e5m2_scale_rule",
}


def random_bits(generator, blocks):
    """Every exponent, subnormals, Inf and NaN included, often mixed in one block."""
    bits = torch.randint(-(2**31), 2**31, (blocks, MX_BLOCK), generator=generator)
    return bits.to(torch.int32).view(torch.float32)


def same_exponent(generator, blocks):
    """Blocks whose elements are within a factor of 64, at every scale from subnormal to overflow."""
    exponents = torch.randint(-150, 128, (blocks, 1), generator=generator).double()
    values = torch.randn(blocks, MX_BLOCK, generator=generator, dtype=torch.float64) * torch.exp2(exponents)
    return values.clamp(-3.4028234e38, 3.4028234e38).float()


def ties(element, generator, blocks):
    """Midpoints of the element grid and their neighbours, times powers of two, under varied maxima."""
    grid = torch.tensor(element.magnitudes(), dtype=torch.float64)
    midpoints = ((grid[:-1] + grid[1:]) / 2).float()
    around = torch.cat(
        [midpoints, midpoints.nextafter(torch.tensor(torch.inf)), midpoints.nextafter(torch.tensor(0.0)), grid.float()]
    )
    picks = torch.randint(0, len(around), (blocks, MX_BLOCK), generator=generator)
    signs = torch.randint(0, 2, (blocks, MX_BLOCK), generator=generator) * 2 - 1
    exponents = torch.randint(-100, 90, (blocks, 1), generator=generator).float()
    return around[picks] * signs * torch.exp2(exponents)


def maxima_at_thresholds(generator, blocks):
    """Block maxima at the significands where the scale rules change their mind, and next to them."""
    significands = torch.tensor([1.0, 1.25, 1.5, 1.75, 1.875, 1.9375, 2 - 2**-23])
    around = torch.cat(
        [significands, significands.nextafter(torch.tensor(4.0)), significands.nextafter(torch.tensor(0.0))]
    )
    maxima = around[torch.randint(0, len(around), (blocks, 1), generator=generator)].double()
    maxima = maxima * torch.exp2(torch.randint(-149, 128, (blocks, 1), generator=generator).double())
    rest = torch.rand(blocks, MX_BLOCK - 1, generator=generator, dtype=torch.float64) * maxima
    return torch.cat([rest, -maxima], dim=1).clamp(-3.4028234e38, 3.4028234e38).float()


def special_blocks():
    """Zeros of both signs, subnormals, the largest number, Inf and NaN."""
    block = torch.zeros(10, MX_BLOCK)
    block[1] = -0.0
    block[2, ::2] = -0.0
    block[3] = 2.0**-149
    block[4, 5] = -(2.0**-127)
    block[5] = torch.finfo(torch.float32).max
    block[6, 3] = torch.inf
    block[7, 4] = -torch.inf
    block[8, 31] = torch.nan
    block[9] = torch.nan
    return block


@pytest.fixture(params=MX_FORMATS, scope="module")
def mx_format(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def blocks(mx_format):
    generator = torch.Generator().manual_seed(7)
    element = find_codec(mx_format).element
    return torch.cat(
        [
            special_blocks(),
            random_bits(generator, 500),
            same_exponent(generator, 1000),
            ties(element, generator, 1000),
            maxima_at_thresholds(generator, 1000),
            torch.randn(1000, MX_BLOCK, generator=generator),
        ]
    )


@pytest.mark.parametrize("rule", SCALE_RULES)
def test_fast_path_equals_the_oracle(mx_format, blocks, rule):
    numerics = profile("aiter-0.1.15", **{MX_FORMATS[mx_format]: rule})
    byte, codes, values = oracle_qdq(blocks, find_codec(mx_format).element, rule)
    finite = (byte != 255).squeeze(1)
    assert 50 < int((~finite).sum()) < 1000

    quantized = quantize(blocks, mx_format, numerics)
    our_codes = unpack_nibbles(quantized.codes) if mx_format == "mxfp4" else quantized.codes

    assert torch.equal(quantized.scales.long(), byte)
    assert torch.equal(our_codes[finite].long(), codes[finite])
    for ours in (dequantize(quantized), qdq(blocks, mx_format, numerics)):
        assert torch.equal(ours[finite].view(torch.int32), values[finite].view(torch.int32))
        assert ours[~finite].isnan().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bit_input_is_computed_in_fp32(mx_format, dtype):
    x = torch.randn(64, MX_BLOCK, generator=torch.Generator().manual_seed(1)).to(dtype)

    quantized = quantize(x, mx_format)

    assert torch.equal(quantized.codes, quantize(x.float(), mx_format).codes)
    assert torch.equal(quantized.scales, quantize(x.float(), mx_format).scales)
    assert torch.equal(qdq(x, mx_format), qdq(x.float(), mx_format).to(dtype))


def test_a_tensor_of_many_pieces_equals_its_parts(mx_format):
    x = torch.randn(3000, 2 * MX_BLOCK, generator=torch.Generator().manual_seed(2))

    whole = qdq(x, mx_format)

    assert torch.equal(whole, torch.cat([qdq(part, mx_format) for part in x.split(100)]))
    assert torch.equal(whole, dequantize(quantize(x, mx_format)))


def test_every_mx_format_is_tested_here():
    from aiter_compat.formats.catalog import CODECS

    assert {name for name, found in CODECS.items() if isinstance(found, MxCodec)} == set(MX_FORMATS)
