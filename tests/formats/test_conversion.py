"""quantize, dequantize and qdq as a caller meets them: shapes, dtypes, storage types, padding, errors."""

import pytest
import torch

from aiter_compat.errors import InvalidArgument
from aiter_compat.formats import Quantized, dequantize, format_names, qdq, quantize
from aiter_compat.profiles import profile

MX_FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2")
EVERY_FORMAT = pytest.mark.parametrize("name", format_names())
EVERY_MX_FORMAT = pytest.mark.parametrize("name", MX_FORMATS)


def normal(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def test_the_names_are_the_documented_ones():
    assert set(format_names()) == {
        *MX_FORMATS,
        "fp8_tensor",
        "fp8_token",
        "fp8_1x128",
        "fp8_1x32",
        "fp8_128x128",
        "fp8_cast",
        "int4_1x32",
    }


def test_names_are_case_insensitive():
    x = normal(2, 32)
    quantized = quantize(x, "MXFP4", "quark")
    assert quantized.format == "mxfp4"
    assert torch.equal(dequantize(quantized), qdq(x, "mxfp4", "quark"))


@EVERY_FORMAT
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_qdq_keeps_shape_and_dtype_and_leaves_its_input_alone(name, dtype):
    x = normal(2, 128, 256, dtype=dtype)
    before = x.clone()
    result = qdq(x, name)
    assert (result.shape, result.dtype) == (x.shape, dtype)
    assert torch.equal(x, before)
    assert (result - x).abs().max() < 1.0
    assert torch.equal(result, dequantize(quantize(x, name), dtype))


@EVERY_FORMAT
def test_qdq_returns_another_dtype_when_asked(name):
    x = normal(128, 256, dtype=torch.bfloat16)
    in_fp32 = qdq(x, name, dtype=torch.float32)
    assert in_fp32.dtype == torch.float32
    assert torch.equal(in_fp32, dequantize(quantize(x, name)))
    assert torch.equal(in_fp32.bfloat16(), qdq(x, name))


@EVERY_FORMAT
@pytest.mark.parametrize("shape", [(0, 256), (3, 0, 128, 256), (128, 0)])
def test_empty_tensors(name, shape):
    if name == "fp8_128x128" and shape == (0, 256):
        shape = (0, 128, 256)
    x = torch.empty(shape)
    assert qdq(x, name).shape == shape
    assert dequantize(quantize(x, name)).shape == shape


@EVERY_FORMAT
def test_strided_input(name):
    x = normal(256, 128)
    assert torch.equal(qdq(x.T, name), qdq(x.T.contiguous(), name))


@pytest.mark.parametrize("name", [name for name in format_names() if name != "fp8_128x128"])
@pytest.mark.parametrize("lead", [(), (1,), (2, 3), (2, 1, 2, 2)])
def test_any_leading_shape(name, lead):
    x = normal(*lead, 128)
    result = qdq(x, name)
    assert result.shape == x.shape
    assert torch.equal(dequantize(quantize(x, name)), result)


@pytest.mark.parametrize(
    ("name", "codes", "scales", "scale_dtype"),
    [
        ("mxfp4", (2, 128, 128), (2, 128, 8), torch.uint8),
        ("mxfp6_e2m3", (2, 128, 256), (2, 128, 8), torch.uint8),
        ("mxfp8", (2, 128, 256), (2, 128, 8), torch.uint8),
        ("fp8_tensor", (2, 128, 256), (1,), torch.float32),
        ("fp8_cast", (2, 128, 256), (1,), torch.float32),
        ("fp8_token", (2, 128, 256), (2, 128, 1), torch.float32),
        ("fp8_1x128", (2, 128, 256), (2, 128, 2), torch.float32),
        ("fp8_1x32", (2, 128, 256), (2, 128, 8), torch.float32),
        ("fp8_128x128", (2, 128, 256), (2, 1, 2), torch.float32),
        ("int4_1x32", (2, 128, 128), (2, 128, 8), torch.bfloat16),
    ],
)
def test_storage_shapes_and_dtypes(name, codes, scales, scale_dtype):
    quantized = quantize(normal(2, 128, 256), name)
    assert (tuple(quantized.codes.shape), quantized.codes.dtype) == (codes, torch.uint8)
    assert (tuple(quantized.scales.shape), quantized.scales.dtype) == (scales, scale_dtype)
    assert quantized.format == name


def test_the_low_nibble_is_the_even_column():
    block = torch.zeros(32)
    block[:4] = torch.tensor([1.0, -2.0, 0.5, 4.0])
    quantized = quantize(block, "mxfp4")
    assert quantized.scales.tolist() == [127]
    assert [hex(byte) for byte in quantized.codes[:2].tolist()] == ["0xc2", "0x61"]


def test_torchs_own_storage_dtypes_are_read_as_bytes():
    x = normal(4, 64)
    four = quantize(x, "mxfp4")
    viewed = Quantized(four.codes.view(torch.float4_e2m1fn_x2), four.scales.view(torch.float8_e8m0fnu), "mxfp4")
    assert torch.equal(dequantize(viewed), dequantize(four))
    eight = quantize(x, "mxfp8")
    viewed = Quantized(eight.codes.view(torch.float8_e4m3fn), eight.scales.view(torch.float8_e8m0fnu), "mxfp8")
    assert torch.equal(dequantize(viewed), dequantize(eight))
    token = quantize(x, "fp8_token")
    assert torch.equal(
        dequantize(Quantized(token.codes.view(torch.float8_e4m3fn), token.scales, "fp8_token")), dequantize(token)
    )


def test_scales_of_all_experts_may_be_flattened():
    quantized = quantize(normal(4, 8, 64), "mxfp4")
    flat = Quantized(quantized.codes, quantized.scales.reshape(32, 2), "mxfp4")
    assert torch.equal(dequantize(flat), dequantize(quantized))


def test_byte_0_and_byte_255_of_a_scale():
    codes = torch.full((2, 16), 0x22, dtype=torch.uint8)
    values = dequantize(Quantized(codes, torch.tensor([[0], [255]], dtype=torch.uint8), "mxfp4"))
    assert (values[0] == 2.0**-127).all()
    assert values[1].isnan().all()


@EVERY_MX_FORMAT
def test_a_short_last_block_is_refused(name):
    with pytest.raises(InvalidArgument, match=r"last block has 16 elements.*pad_last_block=True"):
        quantize(normal(2, 48), name)
    with pytest.raises(InvalidArgument, match="pad_last_block=True"):
        qdq(normal(2, 48), name)


@EVERY_MX_FORMAT
@pytest.mark.parametrize("columns", [1, 31, 33, 48, 64])
def test_a_short_last_block_is_padded_with_zeros_when_asked(name, columns):
    x = normal(3, columns)
    whole = torch.zeros(3, -(-columns // 32) * 32)
    whole[:, :columns] = x

    quantized = quantize(x, name, pad_last_block=True)

    assert torch.equal(quantized.codes, quantize(whole, name).codes)
    assert torch.equal(qdq(x, name, pad_last_block=True), qdq(whole, name)[:, :columns])
    assert torch.equal(dequantize(quantized), qdq(x, name, pad_last_block=True))


def test_numerics_may_be_a_name_a_profile_or_left_out():
    x = torch.zeros(32)
    x[:2] = torch.tensor([6.0, 0.3])
    assert qdq(x, "mxfp4")[:2].tolist() == [6.0, 0.0]
    assert qdq(x, "mxfp4", "aiter-0.1.15")[:2].tolist() == [6.0, 0.0]
    assert qdq(x, "mxfp4", "aiter-0.1.20")[:2].tolist() == [6.0, 0.5]
    assert qdq(x, "mxfp4", profile("quark"))[:2].tolist() == [6.0, 0.5]


def test_gradients_do_not_flow():
    x = normal(2, 32).requires_grad_()
    assert not qdq(x, "mxfp4").requires_grad


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: quantize(normal(2, 32), "mxfp5"), "format: got mxfp5; allowed: mxfp4"),
        (lambda: quantize(normal(2, 32), None), "format: got None"),
        (lambda: quantize(normal(2, 32), "mxfp4", "aiter-9"), "numerics: got aiter-9"),
        (lambda: quantize([1.0], "mxfp4"), "x: got list"),
        (lambda: quantize(normal(2, 32).double(), "mxfp4"), "dtype torch.float64"),
        (lambda: quantize(torch.tensor(1.0), "mxfp4"), "scalar tensor"),
        (lambda: quantize(normal(2, 32), "mxfp4", scale=1.0), "scale: .*fp8_tensor"),
        (lambda: quantize(normal(2, 32), "fp8_token", scale=1.0), "scale: .*fp8_tensor"),
        (lambda: quantize(normal(2, 32), "fp8_tensor", scale=torch.ones(2)), "scale: .*one number"),
        (lambda: quantize(normal(2, 100), "fp8_1x128"), "multiple of 128"),
        (lambda: quantize(normal(64, 128), "fp8_128x128"), "dimension -2 is no multiple of 128"),
        (lambda: quantize(normal(128), "fp8_128x128"), "rank 2 or more"),
        (lambda: quantize(normal(2, 100), "fp8_1x128", pad_last_block=True), "pad_last_block"),
        (lambda: quantize(normal(2, 40), "int4_1x32"), "multiple of 32"),
        (lambda: quantize(normal(2, 40), "int4_1x32", pad_last_block=True), "pad_last_block"),
        (lambda: qdq(normal(2, 32), "mxfp4", dtype=torch.int8), "dtype: got torch.int8"),
        (lambda: dequantize("mxfp4"), "q: got str"),
        (
            lambda: dequantize(Quantized(normal(2, 16), zeros(2, 1), "mxfp4")),
            "codes: .*float32",
        ),
        (lambda: dequantize(Quantized(zeros(2, 16), torch.ones(2, 1), "mxfp4")), "scales: .*float32"),
        (lambda: dequantize(Quantized(zeros(2, 16), zeros(2, 2), "mxfp4")), r"scales: .*\(2, 1\)"),
        (lambda: dequantize(Quantized(zeros(2, 24), zeros(2, 1), "mxfp4")), "codes: .*whole blocks of 16 bytes"),
        (lambda: dequantize(Quantized(zeros(2, 32), zeros(2, 1), "fp8_token")), "scales: .*uint8"),
        (lambda: dequantize(Quantized(zeros(2, 32), torch.ones(3, 1), "fp8_token")), r"scales: .*\(2, 1\)"),
        (lambda: dequantize(Quantized(zeros(8, 64), torch.ones(4, 8), "int4_1x32")), "transposed"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_allowed(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()


def zeros(*shape):
    return torch.zeros(*shape, dtype=torch.uint8)
