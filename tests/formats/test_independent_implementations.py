"""Other people's code agrees where it implements the same rule; where it does not, the difference is the stated one."""

import importlib
import warnings

import pytest
import torch

from aiter_compat.formats import dequantize, quantize
from aiter_compat.formats.elements import E2M1, E2M3, E4M3
from aiter_compat.formats.mx_scale import e8m0_from_amax
from aiter_compat.profiles import profile


def import_or_skip(module):
    """Their import may warn about the torch release that it meets, which is no concern of this suite."""
    pytest.importorskip(module.split(".")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(module)


def numerics(rule):
    return profile(
        "ocp", mxfp4_scale_rule=rule, mxfp6_scale_rule=rule, mxfp8_scale_rule=rule, mxfp8_e5m2_scale_rule=rule
    )


def varied_blocks():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(4000, 32, generator=generator)
    x[1000:2000] = x[1000:2000].bfloat16().float()
    x[2000:] *= torch.exp2(torch.randint(-90, 90, (2000, 1), generator=generator).float())
    x[3000:, 0] = torch.tensor([1.0, 1.5, 1.75, 1.875, 1.9375, 6.0, 7.0, 448.0]).repeat(125)
    x[3000:, 1:] = x[3000:, 1:].sign() * x[3000:, :1] * torch.rand(1000, 31, generator=generator)
    return x


TORCHAO_ELEMENTS = {
    "mxfp4": torch.float4_e2m1fn_x2,
    "mxfp8": torch.float8_e4m3fn,
    "mxfp8_e5m2": torch.float8_e5m2,
    "mxfp6_e2m3": "fp6_e2m3",
    "mxfp6_e3m2": "fp6_e3m2",
}


class Torchao:
    def __init__(self):
        self.module = import_or_skip("torchao.prototype.mx_formats.mx_tensor")

    def __call__(self, x, name, rule):
        mode = self.module.ScaleCalculationMode(rule)
        scales, codes = self.module.to_mx(x, TORCHAO_ELEMENTS[name], 32, mode)
        return scales.view(torch.uint8), codes.view(torch.uint8)


@pytest.fixture(scope="module")
def torchao():
    return Torchao()


@pytest.mark.parametrize("rule", ["floor", "even", "ceil", "rceil"])
@pytest.mark.parametrize("name", TORCHAO_ELEMENTS)
def test_torchao_agrees_on_scales_and_codes(torchao, name, rule):
    x = varied_blocks()

    scales, codes = torchao(x, name, rule)
    ours = quantize(x, name, numerics(rule))

    assert torch.equal(ours.scales, scales.view(ours.scales.shape))
    assert torch.equal(ours.codes, codes.view(ours.codes.shape))


def test_torchao_differs_on_scale_byte_0(torchao):
    """It divides by no less than 2^-126, AITER by 2^-127 for byte 0."""
    x = torch.full((1, 32), 2.0**-126)

    scales, codes = torchao(x, "mxfp4", "floor")
    ours = quantize(x, "mxfp4", "ocp")

    assert scales.tolist() == ours.scales.tolist() == [[0]]
    assert set(ours.codes[0].tolist()) == {0x44}
    assert set(codes[0].tolist()) == {0x22}
    assert torch.equal(dequantize(ours), x)


def test_torchao_differs_on_infinity(torchao):
    """Its floor and rceil give an infinite block a finite scale; AITER's torch reference gives NaN."""
    x = torch.ones(1, 32)
    x[0, 3] = torch.inf
    assert torchao(x, "mxfp4", "floor")[0].item() == 253
    assert torchao(x, "mxfp4", "rceil")[0].item() == 254
    assert quantize(x, "mxfp4", "ocp").scales.item() == 255
    assert quantize(x, "mxfp4", "aiter-0.1.16").scales.item() == 255


@pytest.mark.parametrize(("bits", "element", "threshold_element"), [(4, E2M1, E2M1), (6, E2M3, E2M3), (8, E4M3, E2M1)])
def test_compressed_tensors_uses_the_even_rule(bits, element, threshold_element):
    """For 8 bits it takes the threshold of e2m1, 1.75, instead of e4m3's 1.9375: stated, and asserted here."""
    theirs = import_or_skip("compressed_tensors.quantization.utils.mxfp_utils")
    amax = varied_blocks().abs().amax(-1)
    amax = torch.cat([amax, torch.tensor([1.0, 1.75, 1.74, 1.8, 1.9375, 1.93, 1.99])])

    scales = theirs.generate_mx_scales(amax, bits).int()

    same_threshold = e8m0_from_amax(amax, threshold_element, "even")
    expected = same_threshold + threshold_element.largest_exponent - element.largest_exponent
    assert torch.equal(scales, expected)
    assert torch.equal(scales, e8m0_from_amax(amax, element, "even")) == (element is threshold_element)
