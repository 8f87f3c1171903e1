"""Codes and scales are those of `ac.quantize`, bit for bit, under every rule and for every kind of input."""

import ctypes

import numpy as np
import pytest
import torch

numba = pytest.importorskip("numba", exc_type=ImportError)

from aiter_compat.backends.emulation.compiled import layer_plan  # noqa: E402
from aiter_compat.backends.emulation.compiled.kernels import (  # noqa: E402
    activation_math,
    block_rounding,
    number_formats,
)
from aiter_compat.formats import dequantize, quantize  # noqa: E402
from aiter_compat.profiles import profile  # noqa: E402

COLUMNS = 64
RULES = ("floor", "nearest", "even", "even_or_nan", "even_or_largest", "rceil", "ceil")


@numba.njit
def _through_16_bits(x, kind, out):
    for i in range(x.size):
        out[i] = number_formats.rounded_to_16_bits(x[i], kind)


def rounded(x, format_name, rule, floor=0.0):
    """Rows as the kernels store them, [rows, bytes]."""
    rounding, store = layer_plan.ROUNDINGS[format_name], block_rounding.store_block.ctypes
    out = np.zeros((len(x), COLUMNS + COLUMNS // 4 if format_name == "mxfp4" else 4 * COLUMNS), np.uint8)
    integers = (ctypes.c_int32 * 32)()
    for row, values in enumerate(x.numpy()):
        for block in range(COLUMNS // 32):
            block_values = values[32 * block :].ctypes.data_as(ctypes.POINTER(ctypes.c_float))
            at = out[row].ctypes.data
            store(block_values, integers, rounding, layer_plan.RULES[rule], floor, at, COLUMNS, block)
    return out


def inputs():
    random = torch.Generator().manual_seed(1)
    x = torch.randn(400, COLUMNS, generator=random)
    exponents = torch.randint(-149, 127, (200, 1), generator=random)
    steps = torch.randint(-12, 13, (100, COLUMNS), generator=random) * 0.25
    every_maximum = torch.zeros(256, COLUMNS)
    every_maximum[:, 0] = torch.ldexp(torch.ones(256), torch.arange(256) - 128)
    every_maximum[:, 1] = every_maximum[:, 0] * (1 + torch.arange(256) / 256)
    special = torch.zeros(6, COLUMNS)
    special[1, 3], special[2, 40], special[3, 5] = float("nan"), float("inf"), -0.0
    special[4], special[5, 0] = 1e-12, torch.finfo(torch.float32).max
    return torch.cat([x, torch.ldexp(x[:200], exponents), steps, every_maximum, special])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("floor", [0.0, 1e-10])
def test_mxfp4_codes_and_scales(rule, floor):
    x = inputs()
    quantized = quantize(x, "mxfp4", profile(None, mxfp4_scale_rule=rule, block_amax_floor=floor))
    low, high = quantized.codes & 15, quantized.codes >> 4
    twice = torch.tensor([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], dtype=torch.int8)
    out = torch.from_numpy(rounded(x, "mxfp4", rule, floor))
    codes = out[:, :COLUMNS].view(torch.int8).view(len(x), 2, 32)
    finite = (quantized.scales != 255).unsqueeze(2)
    assert torch.equal(codes[..., :16] * finite, (twice[low.int()].view(len(x), 2, 16)) * finite)
    assert torch.equal(codes[..., 16:] * finite, (twice[high.int()].view(len(x), 2, 16)) * finite)
    scales = out[:, COLUMNS : COLUMNS + 8].contiguous().view(torch.float32)
    expected = torch.exp2(quantized.scales.double() - 129).float()
    expected[quantized.scales == 255] = float("nan")
    torch.testing.assert_close(scales, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("rule", RULES)
def test_mxfp8_values(rule):
    x = inputs()
    expected = dequantize(quantize(x, "mxfp8", profile(None, mxfp8_scale_rule=rule)))
    out = torch.from_numpy(rounded(x, "mxfp8", rule)).view(torch.float32)
    torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_16_bit_values(dtype):
    x = inputs().flatten()
    near = torch.tensor([65504.0, 65519.0, 65520.0, -65520.0, 2.0**-25, 2.0**-24, 1.5 * 2.0**-24, -0.0, 3.39e38])
    x = torch.cat([x, near, torch.arange(2**16).to(torch.int16).view(torch.float16).float()])
    out = np.empty(x.numel(), np.float32)
    _through_16_bits(x.numpy(), layer_plan.KINDS[dtype], out)
    torch.testing.assert_close(torch.from_numpy(out), x.to(dtype).float(), rtol=0, atol=0, equal_nan=True)


def test_the_numbers_of_the_choices_are_those_of_the_kernels():
    formats, blocks, math = number_formats, block_rounding, activation_math
    for dtype, name in ((torch.float32, "FP32"), (torch.bfloat16, "BF16"), (torch.float16, "FP16")):
        assert layer_plan.KINDS[dtype] == getattr(formats, name)
    for rule, code in layer_plan.RULES.items():
        assert code == getattr(formats, rule.upper())
    assert layer_plan.ROUNDINGS == {
        "mxfp4": blocks.AS_MXFP4,
        "mxfp8": blocks.AS_MXFP8,
        "none": blocks.UNROUNDED,
    }
    for function, code in layer_plan.ACTIVATIONS.items():
        assert code == getattr(math, function.upper())
