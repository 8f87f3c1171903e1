"""fp8 with fp32 scales: which elements share one, and what happens at the edges."""

import pytest
import torch

from aiter_compat.formats import dequantize, qdq, quantize
from aiter_compat.profiles import profile

F8_MAX = 448.0


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def reference(x, scale):
    """torch's own cast, clamped first since some dtypes and releases do not saturate."""
    return (x / scale).clamp(-F8_MAX, F8_MAX).to(torch.float8_e4m3fn)


@pytest.mark.parametrize("magnitude", [1e-30, 1e-3, 1.0, 1e4, 1e30])
def test_per_token(magnitude):
    x = normal(5, 96) * magnitude
    scale = x.abs().amax(-1, keepdim=True) / F8_MAX
    quantized = quantize(x, "fp8_token")
    assert torch.equal(quantized.scales, scale)
    assert torch.equal(quantized.codes, reference(x, scale).view(torch.uint8))
    assert torch.equal(dequantize(quantized), reference(x, scale).float() * scale)


def test_per_group_equals_per_token_on_each_group():
    x = normal(3, 256)
    assert torch.equal(qdq(x, "fp8_1x128"), qdq(x.view(6, 128), "fp8_token").view(3, 256))


def test_per_tile_equals_per_token_on_each_tile():
    weights = normal(2, 256, 384)
    tiles = weights.view(2, 2, 128, 3, 128).permute(0, 1, 3, 2, 4).reshape(12, 128 * 128)
    expected = qdq(tiles, "fp8_token").view(2, 2, 3, 128, 128).permute(0, 1, 3, 2, 4).reshape(2, 256, 384)
    quantized = quantize(weights, "fp8_128x128")
    assert torch.equal(dequantize(quantized), expected)
    assert torch.equal(quantized.scales, quantize(tiles, "fp8_token").scales.view(2, 2, 3))


def test_per_tensor_static_saturates():
    x = torch.tensor([[1e9, -1e9, 100.0, 0.3, -0.0]])
    assert qdq(x, "fp8_tensor", scale=0.5).tolist() == [[224.0, -224.0, 96.0, 0.3125, -0.0]]


def test_the_unit_scale_cast_saturates_and_keeps_signed_zeros():
    x = torch.tensor([1e9, -torch.inf, 1.06, -0.0])
    result = qdq(x, "fp8_cast")
    assert result.tolist() == [F8_MAX, -F8_MAX, 1.0, 0.0]
    assert torch.signbit(result[3])
    assert quantize(x, "fp8_cast").scales.tolist() == [1.0]


def test_the_cast_of_every_bf16_value_is_torchs_saturated():
    values = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.bfloat16)
    expected = reference(values.float(), torch.tensor(1.0)).float()
    torch.testing.assert_close(qdq(values, "fp8_cast", dtype=torch.float32), expected, rtol=0, atol=0, equal_nan=True)


def test_zero_rows_keep_their_signed_zeros():
    x = torch.zeros(2, 128)
    x[1] = -0.0
    for name in ("fp8_token", "fp8_1x128"):
        assert (quantize(x, name).scales == 1).all()
        assert torch.equal(torch.signbit(qdq(x, name)), torch.signbit(x))


def test_a_zero_tensor_per_tensor_is_nan_as_in_aiter():
    """per_tensor_quant has no guard: 0 / 0."""
    assert quantize(torch.zeros(2, 8), "fp8_tensor").scales.tolist() == [0.0]
    assert qdq(torch.zeros(2, 8), "fp8_tensor").isnan().all()


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_a_row_with_inf_or_nan_becomes_nan_and_no_other(bad):
    x = normal(3, 128)
    x[1, 5] = bad
    for name in ("fp8_token", "fp8_1x128", "fp8_1x32"):
        rounded = qdq(x, name)
        assert rounded[[0, 2]].isfinite().all()
        assert rounded[1, :32].isnan().all()


def test_the_reciprocal_changes_scales_by_at_most_one_ulp():
    x = normal(200, 128)
    exact = quantize(x, "fp8_token").scales
    hip = quantize(x, "fp8_token", profile("aiter-0.1.15", fp8_arithmetic="reciprocal")).scales
    ulps = (exact.view(torch.int32) - hip.view(torch.int32)).abs()
    assert ulps.max() == 1
    assert 0.1 < (ulps == 1).float().mean() < 0.9


@pytest.mark.parametrize("name", ["fp8_token", "fp8_1x128", "fp8_128x128"])
def test_every_code_comes_back(name):
    codes = torch.arange(256, dtype=torch.uint8)
    codes = torch.where((codes & 127) == 127, 0, codes)
    values = codes.view(torch.float8_e4m3fn).float().view(2, 128).repeat(128, 1)
    values[:, 0] = F8_MAX
    again = quantize(values, name)
    assert (again.scales == 1).all()
    assert torch.equal(again.codes[:2].reshape(-1)[1:128], codes[1:128])
