"""fp8 per token, per group and per tensor give AITER's own scales and codes, bit for bit."""

import pytest
import torch

from aiter_compat.formats import dequantize, qdq, quantize
from aiter_compat.profiles import profile

ONE_NAN = -1e9


def values_with_one_nan(codes):
    """0 / 0 and inf * 0 have a NaN of either sign, depending on the processor."""
    return codes.view(torch.float8_e4m3fn).float().nan_to_num(nan=ONE_NAN)


DTYPES = pytest.mark.parametrize("dtype", ["bf16", "fp32"])


@DTYPES
@pytest.mark.parametrize(("name", "prefix"), [("fp8_token", "per_token"), ("fp8_1x128", "per_1x128")])
def test_dynamic_scales_and_codes_equal_aiter(golden, dtype, name, prefix):
    vectors = golden(f"qdq_fp8_{dtype}")

    quantized = quantize(vectors.x, name)

    assert vectors.differing_rows(quantized.scales, f"{prefix}_scale") == []
    assert vectors.differing_rows(quantized.codes, f"{prefix}_u8") == []


@DTYPES
def test_per_token_values_equal_aiter(golden, dtype):
    vectors = golden(f"qdq_fp8_{dtype}")

    assert vectors.differing_rows(dequantize(quantize(vectors.x, "fp8_token")), "per_token_deq") == []
    assert vectors.differing_rows(qdq(vectors.x, "fp8_token", dtype=torch.float32), "per_token_deq") == []


@DTYPES
def test_per_tensor_equals_aiter(golden, dtype):
    vectors = golden(f"qdq_fp8_{dtype}")
    x = vectors.x[slice(*vectors["per_tensor_in_rows"].tolist())]

    dynamic = quantize(x, "fp8_tensor")
    static = quantize(x, "fp8_tensor", scale=vectors["per_tensor_static_scale"])

    assert torch.equal(dynamic.scales, vectors["per_tensor_scale"])
    assert torch.equal(dynamic.codes, vectors["per_tensor_u8"])
    assert torch.equal(static.scales, vectors["per_tensor_static_scale"])
    assert torch.equal(static.codes, vectors["per_tensor_static_u8"])


@DTYPES
def test_1x32_with_an_fp32_scale_equals_aiter(golden, dtype):
    vectors = golden(f"qdq_mxfp8_{dtype}")

    quantized = quantize(vectors.x, "fp8_1x32")

    assert vectors.differing_rows(quantized.scales, "aiterpy_0_1_15_1x32fp32scale_scale") == []
    rows = vectors.finite_rows
    assert torch.equal(
        values_with_one_nan(quantized.codes)[:rows],
        values_with_one_nan(vectors["aiterpy_0_1_15_1x32fp32scale_u8"])[:rows],
    )


@DTYPES
@pytest.mark.parametrize(("name", "prefix"), [("fp8_token", "per_token"), ("fp8_1x128", "per_1x128")])
def test_hip_kernels_are_followed_by_overrides(golden, dtype, name, prefix):
    vectors = golden(f"qdq_fp8_{dtype}")
    hip = profile("aiter-0.1.15", fp8_arithmetic="reciprocal", block_amax_floor=1e-10)

    quantized = quantize(vectors.x, name, hip)

    # Per token the kernel has no guard: a scale of 0 stays 0 there, and the codes mean nothing.
    theirs = vectors[f"emul_hip_{prefix}_scale"]
    usable = (theirs != 0).squeeze(-1)
    assert (quantized.scales[~usable] == 1).all()
    assert torch.equal(quantized.scales[usable], theirs[usable])
    assert torch.equal(
        values_with_one_nan(quantized.codes)[usable], values_with_one_nan(vectors[f"emul_hip_{prefix}_u8"])[usable]
    )
