"""Activations that arrive quantised, or with static scales, are read as AITER reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from aiter_compat.backends.emulation import run
from aiter_compat.backends.emulation.activation_qdq import round_through, second_operand
from aiter_compat.backends.emulation.first_operand import first_operand
from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation
from aiter_compat.formats import dequantize, qdq, quantize
from aiter_compat.profiles import profile


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float4_e2m1fn_x2])
def test_packed_mxfp4_hidden_states_equal_those_rounded_here(make_layer, dtype):
    request = make_layer().request
    arrived = quantize(request.hidden_states, "mxfp4")
    given = replace(
        request, hidden_states=arrived.codes.view(dtype), a1_scale=arrived.scales.view(torch.float8_e8m0fnu)
    )
    assert torch.equal(run(given), run(request))
    assert torch.equal(run(replace(given, qdq_first="none")), run(request))


@pytest.mark.parametrize("name", ["mxfp8", "fp8_tensor", "fp8_token", "fp8_1x128"])
def test_fp8_hidden_states_equal_those_rounded_here(make_layer, name):
    request = make_layer(hidden=256, qdq_first=name).request
    arrived = quantize(request.hidden_states, name)
    given = replace(
        request, hidden_states=arrived.codes.view(torch.float8_e4m3fn), a1_scale=arrived.scales, out_dtype=torch.float32
    )
    assert torch.equal(first_operand(given, 5), dequantize(arrived))
    assert torch.equal(run(given), run(request))


def test_scales_may_have_more_rows_than_there_are_tokens(make_layer):
    request = make_layer().request
    arrived = quantize(request.hidden_states, "mxfp4")
    padded = torch.cat([arrived.scales, torch.full((27, 2), 255, dtype=torch.uint8)])
    assert torch.equal(run(replace(request, hidden_states=arrived.codes, a1_scale=padded)), run(request))


def test_codes_are_not_rounded_through_another_format(make_layer):
    request = make_layer().request
    arrived = quantize(request.hidden_states, "mxfp4")
    given = replace(request, hidden_states=arrived.codes, a1_scale=arrived.scales, qdq_first="mxfp8")
    with pytest.raises(InvalidArgument, match="quantised already"):
        run(given)


@pytest.mark.parametrize("scale", [None, torch.ones(5, 3), torch.ones(4, 2, dtype=torch.uint8)])
def test_codes_need_scales_that_fit(make_layer, scale):
    request = make_layer().request
    with pytest.raises(InvalidArgument, match="a1_scale"):
        run(replace(request, hidden_states=quantize(request.hidden_states, "mxfp4").codes, a1_scale=scale))


def test_static_scales_take_the_place_of_dynamic_ones(make_layer):
    request = make_layer(qdq_first="fp8_tensor", qdq_second="fp8_tensor").request
    static = replace(request, a1_scale=torch.tensor([0.02]), a2_scale=torch.tensor(0.25))
    assert torch.equal(
        first_operand(static, 5), qdq(request.hidden_states, "fp8_tensor", scale=0.02, dtype=torch.float32)
    )
    activated = torch.randn(4, 96, generator=torch.Generator().manual_seed(5))
    expected = qdq(activated.bfloat16(), "fp8_tensor", scale=0.25, dtype=torch.float32)
    assert torch.equal(second_operand(activated, static), expected)
    assert not torch.equal(run(static), run(request))


def test_a_static_scale_saturates():
    values = round_through(torch.tensor([[1000.0, -1000.0]]), "fp8_tensor", profile(), torch.tensor([1.0]))
    assert values.tolist() == [[448.0, -448.0]]


def test_a_static_scale_where_scales_are_dynamic_is_refused(make_layer):
    with pytest.raises(UnsupportedByEmulation, match="static"):
        run(replace(make_layer().request, a2_scale=torch.ones(1)))


def test_static_scales_per_expert_are_refused(make_layer):
    request = make_layer(qdq_first="fp8_tensor", qdq_second="fp8_tensor").request
    with pytest.raises(InvalidArgument, match="maximum"):
        run(replace(request, a2_scale=torch.ones(4)))


@pytest.mark.parametrize(
    ("out", "hidden", "expected"),
    [
        (torch.float16, torch.bfloat16, torch.float16),
        (torch.float32, torch.float16, torch.float16),
        (torch.float32, torch.float32, torch.bfloat16),
    ],
)
def test_the_second_operand_rounds_in_the_dtype_of_the_call(make_layer, out, hidden, expected):
    request = make_layer(out_dtype=out, qdq_second="none").request
    request = replace(request, hidden_states=request.hidden_states.to(hidden))
    activated = torch.randn(4, 96, generator=torch.Generator().manual_seed(6))
    assert torch.equal(second_operand(activated, request), activated.to(expected).float())


def test_a_profile_may_leave_the_second_operand_in_fp32(make_layer):
    request = make_layer(qdq_second="none", profile=profile(second_qdq_from="fp32")).request
    activated = torch.randn(4, 96, generator=torch.Generator().manual_seed(7))
    assert torch.equal(second_operand(activated, request), activated)
