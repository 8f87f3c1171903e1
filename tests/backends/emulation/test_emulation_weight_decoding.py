"""Weights of every format and scale shape are read as the values that were quantised, by both paths alike."""

from __future__ import annotations

import pytest
import torch

from aiter_compat.backends.emulation import tile_decoder
from aiter_compat.backends.emulation.expert_matrices import ExpertMatrices
from aiter_compat.backends.emulation.tiled_product import TiledProduct
from aiter_compat.backends.emulation.weight_decoding import decode_expert
from aiter_compat.formats import dequantize, quantize
from aiter_compat.layouts import shuffle_16x16, shuffle_a16w4, shuffle_scale_a16w4, shuffle_scale_e8m0

MX = ["mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2"]
EXPERTS, ROWS, COLUMNS = 3, 256, 256


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of 128 rows, so that a matrix of these tests has several, the last one not always whole."""
    monkeypatch.setattr(tile_decoder, "_TILE_VALUES", 1)


def weights(rows: int = ROWS, columns: int = COLUMNS) -> torch.Tensor:
    return torch.randn(EXPERTS, rows, columns, generator=torch.Generator().manual_seed(2))


def matrices(stored, scale, weight_format, quant_type, **fields):
    given = {"layout": "logical", "gate_up": True, "columns": COLUMNS} | fields
    found = ExpertMatrices("w1", stored, scale, weight_format, quant_type, **given)
    found.check()
    return found


def assert_decodes_to(found: ExpertMatrices, expected: torch.Tensor) -> None:
    """Every expert, bit for bit, by the plain decoder and through the tiles of the default path."""
    identity = torch.eye(found.columns)
    product = TiledProduct(torch.device("cpu"))
    for expert in range(found.experts):
        assert torch.equal(decode_expert(found, expert), expected[expert])
        assert torch.equal(product(identity, found, expert), expected[expert].t())


@pytest.mark.parametrize("flat", [False, True], ids=["scales [E, N, C]", "scales [E*N, C]"])
@pytest.mark.parametrize("name", MX)
def test_mx_weights(name, flat):
    quantised = quantize(weights(), name)
    scales = quantised.scales.view(EXPERTS * ROWS, -1) if flat else quantised.scales
    assert_decodes_to(matrices(quantised.codes, scales, name, "per_1x32"), dequantize(quantised))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("mxfp4", torch.float4_e2m1fn_x2),
        ("mxfp8", torch.float8_e4m3fn),
        ("mxfp8_e5m2", torch.float8_e5m2),
    ],
)
def test_mx_weights_in_torchs_own_dtypes(name, dtype):
    quantised = quantize(weights(), name)
    found = matrices(quantised.codes.view(dtype), quantised.scales.view(torch.float8_e8m0fnu), name, "per_1x32")
    assert_decodes_to(found, dequantize(quantised))


def test_the_extreme_scale_bytes():
    """Byte 0 is 2^-127, a subnormal; byte 255 makes the block NaN."""
    codes = torch.full((1, 32, 32), 0x22, dtype=torch.uint8)
    scales = torch.full((1, 32, 2), 127, dtype=torch.uint8)
    scales[0, 0, 0], scales[0, 1, 1] = 0, 255
    values = decode_expert(matrices(codes, scales, "mxfp4", "per_1x32", columns=64), 0)
    assert values[0, 0] == 2.0**-127
    assert values[1, 32:].isnan().all()
    assert torch.equal(values[2:], torch.ones(30, 64))


@pytest.mark.parametrize("shape", [(EXPERTS,), (EXPERTS, 1), (EXPERTS, 1, 1)])
def test_fp8_with_a_scale_per_expert(shape):
    scale = torch.tensor([0.5, 3.0, 0.01])
    codes = weights().to(torch.float8_e4m3fn)
    found = matrices(codes, scale.view(shape), "fp8", "per_tensor")
    assert_decodes_to(found, codes.float() * scale.view(-1, 1, 1))


def test_fp8_with_one_scale_for_all_experts():
    codes = weights().to(torch.float8_e4m3fn)
    assert_decodes_to(matrices(codes, torch.tensor(0.3), "fp8", "per_tensor"), codes.float() * torch.tensor(0.3))


@pytest.mark.parametrize("quant_type", ["per_token", "per_tensor"])
def test_fp8_with_a_scale_per_row(quant_type):
    scale = torch.rand(EXPERTS, ROWS, 1, generator=torch.Generator().manual_seed(4))
    codes = weights().to(torch.float8_e4m3fn).view(torch.uint8)
    expected = codes.view(torch.float8_e4m3fn).float() * scale
    assert_decodes_to(matrices(codes, scale, "fp8", quant_type), expected)


@pytest.mark.parametrize("quant_type", ["per_128x128", "per_1x128"])
def test_fp8_with_a_scale_per_tile(quant_type):
    quantised = quantize(weights(), "fp8_128x128")
    assert_decodes_to(matrices(quantised.codes, quantised.scales, "fp8", quant_type), dequantize(quantised))


def test_int4_packed_as_our_format():
    quantised = quantize(weights(), "int4_1x32")
    assert_decodes_to(matrices(quantised.codes, quantised.scales, "int4", "per_1x32"), dequantize(quantised))


def test_int4_one_a_byte_with_aiters_transposed_scales():
    quantised = quantize(weights(), "int4_1x32")
    low, high = quantised.codes << 4, quantised.codes & 0xF0
    codes = torch.stack((low, high), dim=-1).flatten(-2).view(torch.int8) >> 4
    found = matrices(codes, quantised.scales.transpose(1, 2).contiguous(), "int4", "per_1x32")
    assert_decodes_to(found, dequantize(quantised))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_unquantised(dtype):
    stored = weights().to(dtype)
    assert_decodes_to(matrices(stored, None, "unquantised", "no"), stored.float())


@pytest.mark.parametrize("gate_up", [True, False])
@pytest.mark.parametrize("columns", [256, 384], ids=["whole scale tiles", "padded scale columns"])
def test_a16w4_is_undone(gate_up, columns):
    quantised = quantize(weights(columns=columns), "mxfp4")
    scales = shuffle_scale_a16w4(
        quantised.scales.view(EXPERTS * ROWS, -1), EXPERTS, gate_up, pad_columns=columns % 256 > 0
    )
    found = matrices(
        shuffle_a16w4(quantised.codes, gate_up),
        scales,
        "mxfp4",
        "per_1x32",
        layout="a16w4",
        gate_up=gate_up,
        columns=columns,
    )
    assert_decodes_to(found, dequantize(quantised))


@pytest.mark.parametrize("rows", [256, 160], ids=["whole scale tiles", "experts that share a scale tile"])
@pytest.mark.parametrize("name", ["mxfp4", "mxfp8"])
def test_shuffle_16x16_is_undone(name, rows):
    quantised = quantize(weights(rows=rows, columns=320), name)
    found = matrices(
        shuffle_16x16(quantised.codes),
        shuffle_scale_e8m0(quantised.scales),
        name,
        "per_1x32",
        layout="shuffle_16x16",
        columns=320,
    )
    assert_decodes_to(found, dequantize(quantised))


@pytest.mark.parametrize("quant_type", ["no", "per_token"])
def test_shuffle_16x16_leaves_fp32_scales_and_their_absence_alone(quant_type):
    stored = weights().bfloat16()
    if quant_type == "no":
        assert_decodes_to(
            matrices(shuffle_16x16(stored), None, "unquantised", "no", layout="shuffle_16x16"), stored.float()
        )
        return
    codes, scale = stored.to(torch.float8_e4m3fn), torch.rand(EXPERTS, ROWS, 1)
    found = matrices(shuffle_16x16(codes), scale, "fp8", "per_token", layout="shuffle_16x16")
    assert_decodes_to(found, codes.float() * scale)
