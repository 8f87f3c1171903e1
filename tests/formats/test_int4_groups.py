"""int4_1x32 computes what AITER's per_1x32_i4_quant does, packed two codes a byte."""

import pytest
import torch

from aiter_compat.formats import Quantized, dequantize, qdq, quantize


def aiter_rule(weight):
    """Codes int8 [..., N, K] and scales bf16 [..., N, K/32], in the weight's own dtype."""
    groups = weight.view(*weight.shape[:-1], -1, 32)
    scale = groups.abs().amax(-1).clamp(min=1e-6) / 7.0
    codes = (groups / scale.unsqueeze(-1)).round().clamp(-7, 7).to(torch.int8)
    return codes.view(weight.shape), scale.to(torch.bfloat16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_codes_and_scales(dtype):
    weight = torch.randn(3, 64, 96, generator=torch.Generator().manual_seed(0)).to(dtype)
    codes, scales = aiter_rule(weight)

    quantized = quantize(weight, "int4_1x32")

    low = (quantized.codes << 4).view(torch.int8) >> 4
    high = quantized.codes.view(torch.int8) >> 4
    assert torch.equal(torch.stack([low, high], -1).flatten(-2), codes)
    assert torch.equal(quantized.scales, scales)
    expected = codes.float().view(3, 64, 3, 32) * scales.float().unsqueeze(-1)
    assert torch.equal(dequantize(quantized), expected.view(weight.shape))


def test_every_code_decodes_to_its_twos_complement():
    packed = torch.arange(256, dtype=torch.uint8).view(16, 16)
    values = dequantize(Quantized(packed, torch.ones(16, 1, dtype=torch.bfloat16), "int4_1x32"))
    signed = [*range(8), *range(-8, 0)]
    assert values[..., 0::2].reshape(-1).tolist() == [signed[byte & 15] for byte in range(256)]
    assert values[..., 1::2].reshape(-1).tolist() == [signed[byte >> 4] for byte in range(256)]


def test_a_zero_group_stays_zero_and_a_nan_stays_in_its_group():
    x = torch.zeros(2, 64)
    x[1, 40] = torch.nan
    rounded = qdq(x, "int4_1x32")
    assert (rounded[0] == 0).all()
    assert (rounded[1, :32] == 0).all()
    assert rounded[1, 32:].isnan().all()
