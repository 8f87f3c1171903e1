"""mxfp4, mxfp6 and mxfp8 give AITER's own scale bytes, codes and values, bit for bit."""

import pytest
import torch

from aiter_compat.formats import dequantize, qdq, quantize
from aiter_compat.profiles import profile

OVERFLOWING = ["max finite", "one max in block"]

AITER_MXFP4 = {
    "aiterpy_0_1_15": profile("aiter-0.1.15"),
    "aiterpy_0_1_20": profile("aiter-0.1.20"),
    "aiterpy_0_1_20_RoundDown": profile("ocp"),
    "aiterpy_0_1_20_Even": profile("aiter-0.1.20", mxfp4_scale_rule="even_or_nan"),
    "aiterpy_0_1_20_Ceil": profile("aiter-0.1.20", mxfp4_scale_rule="ceil"),
    "emul_flydsl_fused_0_1_15": profile("aiter-0.1.15"),
    "emul_hip_0_1_20": profile("aiter-0.1.20", block_amax_floor=1e-10),
}
AITER_MXFP8 = {
    "aiterpy_0_1_15_mxfp8": profile("aiter-0.1.15"),
    "aiterpy_0_1_20_mxfp8": profile("aiter-0.1.20"),
    "emul_hip_0_1_20_mxfp8": profile("aiter-0.1.20", block_amax_floor=1e-10),
}


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("prefix", AITER_MXFP4)
def test_mxfp4_equals_aiter(golden, dtype, prefix):
    vectors = golden(f"qdq_mxfp4_{dtype}")
    numerics = AITER_MXFP4[prefix]

    quantized = quantize(vectors.x, "mxfp4", numerics)

    assert vectors.differing_rows(quantized.scales, f"{prefix}_scale_u8") == []
    assert vectors.differing_rows(quantized.codes, f"{prefix}_packed_u8") == []
    if f"{prefix}_deq" in vectors.arrays:
        assert vectors.differing_rows(dequantize(quantized), f"{prefix}_deq") == []
        assert vectors.differing_rows(qdq(vectors.x, "mxfp4", numerics, dtype=torch.float32), f"{prefix}_deq") == []


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize("prefix", AITER_MXFP8)
def test_mxfp8_equals_aiter(golden, dtype, prefix):
    vectors = golden(f"qdq_mxfp8_{dtype}")
    numerics = AITER_MXFP8[prefix]

    quantized = quantize(vectors.x, "mxfp8", numerics)

    assert vectors.differing_rows(quantized.scales, f"{prefix}_scale_u8") == []
    assert vectors.differing_rows(quantized.codes, f"{prefix}_u8") == []
    if f"{prefix}_deq" in vectors.arrays:
        assert vectors.differing_rows(dequantize(quantized), f"{prefix}_deq") == []
        assert vectors.differing_rows(qdq(vectors.x, "mxfp8", numerics, dtype=torch.float32), f"{prefix}_deq") == []


@pytest.mark.parametrize("rule", ["floor", "even", "rceil"])
@pytest.mark.parametrize(
    ("name", "element", "field"),
    [
        ("mxfp6_e2m3", "e2m3", "mxfp6_scale_rule"),
        ("mxfp6_e3m2", "e3m2", "mxfp6_scale_rule"),
        ("mxfp8_e5m2", "e5m2", "mxfp8_e5m2_scale_rule"),
    ],
)
def test_formats_without_an_aiter_quantiser_equal_the_independent_reference(golden, name, element, field, rule):
    vectors = golden("qdq_mxfp6_mxfp8e5m2_bf16")
    numerics = profile("aiter-0.1.15", **{field: rule})

    quantized = quantize(vectors.x, name, numerics)

    assert vectors.differing_rows(quantized.scales, f"{element}_{rule}_scale_u8") == []
    assert vectors.differing_rows(dequantize(quantized), f"{element}_{rule}_deq") == []
    assert vectors.differing_rows(qdq(vectors.x, name, numerics, dtype=torch.float32), f"{element}_{rule}_deq") == []


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize(("name", "suffix"), [("mxfp4", ""), ("mxfp8", "_mxfp8")])
def test_hip_kernels_of_0_1_15_differ_only_where_their_scale_overflows(golden, dtype, name, suffix):
    vectors = golden(f"qdq_{name}_{dtype}")

    quantized = quantize(vectors.x, name, profile("aiter-0.1.15", block_amax_floor=1e-10))

    key = f"emul_hip_0_1_15{suffix}_scale_u8"
    assert vectors.differing_rows(quantized.scales, key) == OVERFLOWING
    assert (vectors[key][vectors.labels.index("max finite")] == 255).all()


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_quark_differs_from_aiters_even_mode_only_where_the_scale_overflows(golden, dtype):
    vectors = golden(f"qdq_mxfp4_{dtype}")

    quantized = quantize(vectors.x, "mxfp4", "quark")

    assert vectors.differing_rows(quantized.scales, "aiterpy_0_1_20_Even_scale_u8") == OVERFLOWING
    assert (quantized.scales[vectors.labels.index("max finite")] == 254).all()


@pytest.mark.parametrize(("name", "prefix"), [("mxfp4", "aiterpy_0_1_15"), ("mxfp8", "aiterpy_0_1_15_mxfp8")])
def test_blocks_with_inf_or_nan_become_nan_where_aiters_do(golden, name, prefix):
    vectors = golden(f"qdq_{name}_bf16")
    rows = slice(vectors.finite_rows, None)

    quantized = quantize(vectors.x[rows], name)

    assert torch.equal(quantized.scales, vectors[f"{prefix}_scale_u8"][rows])
    assert torch.equal(dequantize(quantized).isnan(), vectors[f"{prefix}_deq"][rows].isnan())
