"""A layer of few tokens, whose slots are each multiplied by themselves, gives the torch path's numbers.

Blocks are exact in both; the sums over blocks have another order, which makes up to 3e-7 of the norm of the result. The
bound, 1e-6, is below what the smallest faults make, such as one element that is rounded the wrong way.
"""

from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl

from aiter_compat.backends.emulation import ActivationSpec, run
from aiter_compat.backends.emulation.triton_path.kernels.integer_blocks import dots_of_words, magnitude_table
from aiter_compat.backends.emulation.triton_path.slots_layer import run_slots
from aiter_compat.backends.emulation.triton_path.tile_choice import SlotTiles
from aiter_compat.profiles import profile
from aiter_compat.profiles.choices import HIP_AMAX_FLOOR, SCALE_RULES
from benchmarks.gpu_cases.comparison import relative_difference
from benchmarks.gpu_cases.small_layers import Sizes, make

BOUND = 1e-6
SIZES = Sizes(tokens=3, experts=2, choices=2, hidden=160, intermediate=96)
FEW_PROGRAMS = SlotTiles(blocks=8, warps=4, rows=256, second_blocks=4, second_warps=4)
"""Interpreting is slow by the operation: few programs are fast."""
# The interpreter computes in numpy, which warns of Inf and NaN.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")


def layer(sizes=SIZES, **given):
    """A layer whose result is not rounded. Its slots add up in fp32: the interpreter cuts off what should round."""
    chosen = {"slot_rounding": "none", "slot_sum": "fp32"} | given.pop("numerics", {})
    return make(torch.device("cpu"), sizes, out_dtype=torch.float32, profile=profile(**chosen), **given)


def hold(request, tiles=FEW_PROGRAMS, finite=True):
    result, expected = run_slots(request, tiles), run(request)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    whole = expected.isfinite()
    assert bool(whole.all()) == finite
    torch.testing.assert_close(result[~whole], expected[~whole], rtol=0, atol=0, equal_nan=True)
    assert expected[whole].any()
    assert relative_difference(result[whole], expected[whole]) <= BOUND


@pytest.mark.parametrize("gate_rows", ["separated", "interleaved"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gate_rows_and_biases(gate_rows, dtype):
    request = layer(bias1=True, bias2=True, gate_rows=gate_rows)
    hold(replace(request, bias1=request.bias1.to(dtype), bias2=request.bias2.to(dtype)))


@pytest.mark.parametrize("spec", [ActivationSpec("relu2", gated=False), ActivationSpec("situv2", linear_beta=25.0)])
def test_activations_between_the_products(spec):
    hold(layer(activation=spec))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_tokens_of_every_dtype(dtype):
    request = layer()
    hold(replace(request, hidden_states=torch.randn(3, 160, generator=torch.Generator().manual_seed(1)).to(dtype)))


@pytest.mark.parametrize("order", ["before_bias", "after_activation", "ignored"])
def test_routing_weights_in_the_first_stage(order):
    hold(layer(doweight_stage1=True, bias1=True, numerics={"doweight_stage1": order}))


def test_experts_of_other_ranks_and_slots_without_an_expert():
    request = layer(replace(SIZES, tokens=4, experts=3))
    ids = request.topk_ids * 2 + 1
    ids[0], ids[1, 0], ids[2, 1] = torch.tensor([0, 2]), -1, 99
    weights = request.topk_weight.clone()
    weights[3, 1] = 0
    hold(replace(request, topk_ids=ids, topk_weight=weights, expert_mask=torch.tensor([0, 1] * 3)))


@pytest.mark.parametrize("counted", [2, torch.tensor([1], dtype=torch.int32)], ids=["number", "tensor"])
def test_tokens_that_do_not_count_give_zero(counted):
    hold(layer(num_local_tokens=counted))


def test_choices_that_are_no_power_of_two():
    hold(layer(replace(SIZES, tokens=2, experts=4, choices=3)))


def test_programs_that_cut_rows_and_steps():
    # hidden: five blocks in steps of two, 160 rows in programs of 64
    hold(layer(replace(SIZES, tokens=1), bias1=True, bias2=True), SlotTiles(2, 4, 64, 2, 4))


def test_strided_tokens():
    request = layer(replace(SIZES, tokens=2))
    wide = torch.zeros(2, 200, dtype=torch.bfloat16)
    wide[:, :160] = request.hidden_states
    hold(replace(request, hidden_states=wide[:, :160]))


def test_values_at_the_edges(at_the_edges):
    hold(at_the_edges(layer(replace(SIZES, tokens=4))), finite=False)


def test_weight_scales_of_nan(with_scales_of_nan):
    hold(with_scales_of_nan(layer()), finite=False)


def test_scales_whose_product_is_finite_though_neither_alone_is_small():
    # 2^120 in a token, 2^-120 in the weights: in one product with the dots it would be lost or overflow.
    request = layer(replace(SIZES, tokens=1))
    hidden = request.hidden_states.float() * 2.0**110
    scale = (request.w1_scale.int() - 110).clamp(min=0).to(torch.uint8)
    hold(replace(request, hidden_states=hidden, w1_scale=scale))


@pytest.mark.parametrize("rule", SCALE_RULES)
def test_the_scale_rule_and_the_floor_of_block_maxima_are_the_profiles(rule):
    request = layer(replace(SIZES, tokens=2), numerics={"mxfp4_scale_rule": rule, "block_amax_floor": HIP_AMAX_FLOOR})
    hidden = request.hidden_states.clone()
    hidden[1] *= 2.0**-35  # blocks below the floor
    hold(replace(request, hidden_states=hidden))


def test_no_tokens():
    assert run_slots(layer(replace(SIZES, tokens=0))).shape == (0, SIZES.hidden)


@triton.jit
def _dots(words, first, second, out):
    at = tl.arange(0, 256)
    dots = dots_of_words(tl.load(words + at), tl.load(first + at), tl.load(second + at), magnitude_table(False), False)
    tl.store(out + at, dots)


def test_a_word_has_the_dot_product_of_its_codes():
    generator = torch.Generator().manual_seed(2)
    codes = torch.randint(0, 256, (256, 4), dtype=torch.uint8, generator=generator)
    others = torch.randint(-12, 13, (256, 8), dtype=torch.int8, generator=generator)
    out = torch.empty(256, dtype=torch.int32)
    halves = others.view(torch.int32)
    _dots[(1,)](codes.view(torch.int32).flatten(), halves[:, 0].contiguous(), halves[:, 1].contiguous(), out)
    elements = torch.stack([codes & 15, codes >> 4], dim=2).flatten(1)
    twice = torch.tensor([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])[elements.long()]
    assert torch.equal(out.long(), (twice * others.long()).sum(1))
