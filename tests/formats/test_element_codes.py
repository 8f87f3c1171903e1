"""Element values and rounding agree with the formats' definitions, code by code, and with ml_dtypes' casts."""

import numpy as np
import pytest
import torch

from aiter_compat.formats.element_rounding import decode, encode, round_to_element_
from aiter_compat.formats.elements import E2M1, E2M3, E3M2, E4M3, E5M2

ELEMENTS = [E2M1, E2M3, E3M2, E4M3, E5M2]
EACH_ELEMENT = pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: element.name)
ML_DTYPES = {
    "e2m1": "float4_e2m1fn",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
}


def rounded(values, element):
    y = values.clone()
    return round_to_element_(y, element, torch.empty_like(y, dtype=torch.int32), torch.empty_like(y))


def test_e2m1_is_the_list_that_everybody_knows():
    positive = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    assert [E2M1.value(code) for code in range(16)] == positive + [-value for value in positive]
    assert np.signbit(E2M1.value(8))


@EACH_ELEMENT
def test_every_finite_code_survives_decode_round_encode(element):
    codes = torch.arange(2 * element.sign_bit, dtype=torch.uint8)
    values = decode(codes, element)
    finite = values.isfinite()
    assert torch.equal(encode(rounded(values, element), element)[finite], codes[finite])


@EACH_ELEMENT
def test_bits_above_the_sign_are_ignored(element):
    codes = torch.arange(256, dtype=torch.uint8)
    low = codes & (2 * element.sign_bit - 1)
    assert torch.equal(decode(codes, element).view(torch.int32), decode(low, element).view(torch.int32))


@EACH_ELEMENT
def test_large_values_saturate_and_nan_stays_nan(element):
    x = torch.tensor([1e9, -1e9, torch.inf, -torch.inf, torch.nan])
    result = rounded(x, element)
    assert result[:4].tolist() == [element.largest, -element.largest] * 2
    assert result[4].isnan()


@pytest.mark.parametrize("element", [E4M3, E5M2], ids=lambda element: element.name)
def test_nan_has_a_code_where_the_format_has_one(element):
    code = encode(torch.tensor([torch.nan]), element)
    assert decode(code, element).isnan().all()


@pytest.mark.parametrize(("element", "dtype"), [(E4M3, torch.float8_e4m3fn), (E5M2, torch.float8_e5m2)])
def test_every_code_decodes_as_torch_does(element, dtype):
    codes = torch.arange(256, dtype=torch.uint8)
    torch.testing.assert_close(decode(codes, element), codes.view(dtype).float(), rtol=0, atol=0, equal_nan=True)


@EACH_ELEMENT
def test_rounding_equals_ml_dtypes_up_to_saturation(element):
    """Their casts round the same way; e4m3fn and e5m2 overflow there instead of saturating."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = getattr(ml_dtypes, ML_DTYPES[element.name])
    generator = torch.Generator().manual_seed(3)
    grid = torch.tensor(element.magnitudes())
    midpoints = (grid[1:] + grid[:-1]) / 2
    noise = torch.rand(20000, generator=generator) * element.largest * 1.2
    near = torch.cat([midpoints, midpoints.nextafter(torch.tensor(0.0)), midpoints.nextafter(torch.tensor(torch.inf))])
    x = torch.cat([near, noise, noise * element.smallest_normal, grid])
    x = torch.cat([x, -x])

    theirs = torch.from_numpy(x.numpy().astype(dtype).astype(np.float32))
    ours = rounded(x, element)

    inside = x.abs() <= element.largest
    assert torch.equal(ours[inside].view(torch.int32), theirs[inside].view(torch.int32))
    overflow = theirs[~theirs.isfinite()]
    assert bool(len(overflow)) == (element.name in ("e4m3", "e5m2"))
