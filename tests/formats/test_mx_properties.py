"""Laws that hold for every block: what a user may rely on without knowing the rule."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aiter_compat.formats import dequantize, qdq, quantize
from aiter_compat.formats.catalog import find_codec
from aiter_compat.profiles import profile, profile_names
from aiter_compat.profiles.choices import SCALE_RULES

MX_FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2")
MODERATE = 2.0**60

names = st.sampled_from(MX_FORMATS)
profiles = st.sampled_from(profile_names())
moderate_blocks = hnp.arrays(
    np.float32,
    (1, 32),
    elements=st.floats(-MODERATE, MODERATE, width=32, allow_subnormal=False).filter(
        lambda value: value == 0 or abs(value) > 1 / MODERATE
    ),
).map(torch.from_numpy)

lawful = settings(max_examples=25, deadline=None, derandomize=True)


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int32)


@lawful
@given(moderate_blocks, names, profiles)
def test_scaling_by_a_power_of_two_scales_the_result(x, name, numerics):
    for exponent in (-20, 1, 13):
        factor = 2.0**exponent
        assert torch.equal(bits(qdq(x * factor, name, numerics)), bits(qdq(x, name, numerics) * factor))


@lawful
@given(moderate_blocks, names, profiles)
def test_negating_the_input_negates_the_result(x, name, numerics):
    assert torch.equal(bits(qdq(-x, name, numerics)), bits(-qdq(x, name, numerics)))


@lawful
@given(moderate_blocks, names, profiles)
def test_order_within_a_block_is_kept(x, name, numerics):
    ordered = x.sort(dim=-1).values
    rounded = qdq(ordered, name, numerics)
    assert (rounded.diff(dim=-1) >= 0).all()


@lawful
@given(moderate_blocks, names, profiles)
def test_permuting_a_block_permutes_the_result(x, name, numerics):
    permutation = torch.randperm(32, generator=torch.Generator().manual_seed(0))
    assert torch.equal(bits(qdq(x[:, permutation], name, numerics)), bits(qdq(x, name, numerics)[:, permutation]))


def one_rule(rule):
    return profile(
        "ocp", mxfp4_scale_rule=rule, mxfp6_scale_rule=rule, mxfp8_scale_rule=rule, mxfp8_e5m2_scale_rule=rule
    )


@lawful
@given(moderate_blocks, names, st.sampled_from([rule for rule in SCALE_RULES if rule != "nearest"]))
def test_rounding_twice_changes_nothing_more(x, name, rule):
    once = qdq(x, name, one_rule(rule))
    assert torch.equal(bits(qdq(once, name, one_rule(rule))), bits(once))


@lawful
@given(moderate_blocks, names)
def test_the_nearest_rule_settles_at_the_second_rounding(x, name):
    twice = qdq(qdq(x, name, one_rule("nearest")), name, one_rule("nearest"))
    assert torch.equal(bits(qdq(twice, name, one_rule("nearest"))), bits(twice))


def test_the_nearest_rule_alone_is_not_idempotent():
    """AITER up to v0.1.15: a maximum that rounds up to 6 asks for the next scale when it is quantised again."""
    block = torch.zeros(32)
    block[:2] = torch.tensor([5.5, 0.5])
    once = qdq(block, "mxfp4", "aiter-0.1.15")
    assert once[:2].tolist() == [6.0, 0.5]
    assert qdq(once, "mxfp4", "aiter-0.1.15")[:2].tolist() == [6.0, 0.0]
    assert qdq(once, "mxfp4", "aiter-0.1.16")[:2].tolist() == [6.0, 0.5]


@lawful
@given(moderate_blocks, names, profiles)
def test_the_fast_path_is_dequantize_of_quantize(x, name, numerics):
    assert torch.equal(bits(qdq(x, name, numerics)), bits(dequantize(quantize(x, name, numerics))))


@lawful
@given(moderate_blocks, names, profiles)
def test_the_error_is_at_most_half_a_step_unless_saturated(x, name, numerics):
    assume(bool((x != 0).any()))
    element = find_codec(name).element
    quantized = quantize(x, name, numerics)
    scale = torch.exp2(quantized.scales.double() - 127)
    y = x.double() / scale
    inside = y.abs() <= element.largest
    exponent = torch.floor(torch.log2(y.abs().clamp(min=element.smallest_normal)))
    half_step = torch.exp2(exponent - element.mantissa_bits) / 2
    error = (dequantize(quantized).double() / scale - y).abs()
    assert (error[inside] <= half_step[inside]).all()


@pytest.mark.parametrize("name", MX_FORMATS)
@pytest.mark.parametrize("numerics", profile_names())
def test_every_bf16_value_alone_in_its_block(name, numerics):
    """All 65,536 of them: the value comes back within its format's precision, with its sign, or as NaN."""
    values = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.bfloat16)
    element = find_codec(name).element
    blocks = torch.zeros(len(values), 32, dtype=torch.bfloat16)
    blocks[:, 0] = values

    rounded = qdq(blocks, name, numerics, dtype=torch.float32)

    alone = rounded[:, 0].double()
    exact = values.double()
    finite = values.isfinite()
    assert rounded[~finite].isnan().all()
    assert (rounded[finite][:, 1:] == 0).all()
    assert torch.equal(torch.signbit(alone[finite]), torch.signbit(exact[finite]))
    # A lone value sits near the top of its block, where the step is 2^-mantissa_bits of its binade; a maximum just
    # below the significand at which its rule takes the next scale may be clipped to the largest element.
    rule = find_codec(name).rule(profile(numerics))
    next_scale_at = 2.0 if rule == "floor" else 2 - 2.0 ** -(element.mantissa_bits + 1) if "even" in rule else 1.5
    clipping = 1 - element.largest / (next_scale_at * 2.0**element.largest_exponent)
    # fp32 itself ends above 2^127 and below 2^-126.
    ordinary = finite & (exact.abs() < 2.0**127) & (exact.abs() > 2.0**-100)
    error = ((alone - exact) / exact).abs()[ordinary]
    assert error.max() <= max(2.0**-element.mantissa_bits / 2, clipping)
    tiny = finite & (exact.abs() <= 2.0**-100)
    assert ((alone - exact).abs()[tiny] <= 2.0**-100 * 2.0**-element.mantissa_bits).all()


@pytest.mark.parametrize("name", MX_FORMATS)
@pytest.mark.parametrize("numerics", profile_names())
def test_encoding_a_decoded_code_gives_it_back(name, numerics):
    """Every finite code of the format, in a block whose largest code keeps the scale at 2^0."""
    found = find_codec(name)
    element = found.element
    finite = [code for code in range(2 * element.sign_bit) if abs(element.value(code)) <= element.largest]
    largest = element.magnitudes().index(element.largest)
    blocks = torch.tensor([[largest] + [code] * 31 for code in finite], dtype=torch.uint8)
    values = torch.tensor([[element.value(int(code)) for code in block] for block in blocks])
    # Where the rule moves the largest value to the next scale, the codes cannot come back: 6 at 1.5, 448 at 1.75.
    unit_scale = quantize(values, name, numerics)
    if name in ("mxfp4", "mxfp8") and numerics in ("aiter-0.1.13", "aiter-0.1.15"):
        assert (unit_scale.scales == 128).all()
        return
    assert (unit_scale.scales == 127).all()
    assert torch.equal(unit_scale.codes, found.pack(blocks))
