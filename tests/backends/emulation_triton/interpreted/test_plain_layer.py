"""A whole layer of the plain kernels gives the torch path's numbers, whatever the call is made of.

Both compute in fp32 and differ in the order of their sums alone, which makes up to 3e-7 of the norm of the result. The
bound, 1e-6, is below what the smallest faults make: 9e-6 where the third bf16 term of fp32 activations is lost, 2e-4
where one element is rounded to bf16 the wrong way.
"""

from dataclasses import replace

import pytest
import torch

import aiter_compat as ac
from aiter_compat import layouts
from aiter_compat.backends.emulation import ActivationSpec, run
from aiter_compat.backends.emulation.expert_matrices import MX_FORMATS
from aiter_compat.backends.emulation.triton_path.plain_layer import run_plain
from aiter_compat.backends.emulation.triton_path.tile_choice import PlainTiles, plain_tiles_for
from aiter_compat.profiles import profile
from aiter_compat.profiles.choices import HIP_AMAX_FLOOR, SCALE_RULES
from benchmarks.gpu_cases.comparison import relative_difference
from benchmarks.gpu_cases.small_layers import Sizes, make

BOUND = 1e-6
CPU = torch.device("cpu")
SIZES = Sizes(tokens=5, experts=2, choices=2, hidden=160, intermediate=96)
MORE_EXPERTS = replace(SIZES, experts=3)
WHOLE = Sizes(tokens=5, experts=2, choices=2, hidden=128, intermediate=64)
"""What every layout can hold."""
ONE_PROGRAM = PlainTiles(256, 16, 1, 4)
"""Interpreting is slow by the operation: few programs are fast."""
# The interpreter computes in numpy, which warns of Inf and NaN.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")


def layer(sizes=SIZES, **given):
    """A layer whose result is not rounded. Its slots add up in fp32: the interpreter cuts off what should round."""
    chosen = {"slot_rounding": "none", "slot_sum": "fp32"} | given.pop("numerics", {})
    return make(CPU, sizes, out_dtype=torch.float32, profile=profile(**chosen), **given)


def hold(request, tiles=(ONE_PROGRAM, ONE_PROGRAM), finite=True):
    result, expected = run_plain(request, tiles), run(request)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    whole = expected.isfinite()
    assert bool(whole.all()) == finite
    torch.testing.assert_close(result[~whole], expected[~whole], rtol=0, atol=0, equal_nan=True)
    assert expected[whole].any()
    assert relative_difference(result[whole], expected[whole]) <= BOUND


@pytest.mark.parametrize("weights", MX_FORMATS)
def test_weights_of_every_format(weights):
    hold(layer(weight_format=weights, activation_format="none"))


PAIRS = [
    *((name, name) for name in MX_FORMATS),
    *[("none", "mxfp4"), ("mxfp4", "none"), ("mxfp8", "mxfp4"), ("mxfp6_e2m3", "mxfp8_e5m2")],
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_activations_are_rounded_through_every_format(first, second):
    hold(layer(qdq_first=first, qdq_second=second, bias1=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("second", ["bf16", "fp32"])
def test_nothing_is_lost_of_activations_that_are_not_rounded(dtype, second):
    # With a result in fp32, the 16-bit dtype of the call is that of hidden_states, and bf16 beside fp32.
    request = layer(activation_format="none", numerics={"second_qdq_from": second})
    hold(replace(request, hidden_states=torch.randn(5, 160, generator=torch.Generator().manual_seed(1)).to(dtype)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_result_has_the_dtype_that_is_asked_for(dtype):
    request = replace(layer(bias1=True), out_dtype=dtype)
    result, expected = run_plain(request, (ONE_PROGRAM, ONE_PROGRAM)), run(request)
    assert result.dtype == dtype
    # The interpreter cuts off where it should round to bf16: one step of it.
    torch.testing.assert_close(result.float(), expected.float(), rtol=2**-7, atol=0)


def in_layout(request, layout):
    w1, w2, scale1, scale2 = request.w1, request.w2, request.w1_scale, request.w2_scale
    scale1, scale2, gated = scale1.flatten(0, 1), scale2.flatten(0, 1), request.activation.gated
    if layout == "shuffle_16x16":
        moved = [layouts.shuffle_16x16(w1), layouts.shuffle_16x16(w2)]
        moved += [layouts.shuffle_scale_e8m0(scale1), layouts.shuffle_scale_e8m0(scale2)]
    else:
        experts = w1.shape[0]
        scale1, scale2 = (torch.nn.functional.pad(scale, (0, -scale.shape[1] % 8)) for scale in (scale1, scale2))
        moved = [layouts.shuffle_a16w4(w1, gated), layouts.shuffle_a16w4(w2, False)]
        moved += [layouts.shuffle_scale_a16w4(scale1, experts, gated)]
        moved += [layouts.shuffle_scale_a16w4(scale2, experts, False)]
    names = ("w1", "w2", "w1_scale", "w2_scale")
    return replace(request, weight_layout=layout, **dict(zip(names, moved, strict=True)))


@pytest.mark.parametrize(
    ("layout", "weights", "intermediate", "gated"),
    [
        ("shuffle_16x16", "mxfp4", 64, True),
        ("shuffle_16x16", "mxfp8", 96, True),
        ("a16w4", "mxfp4", 128, True),
        ("a16w4", "mxfp4", 128, False),
    ],
)
def test_weights_in_every_layout(layout, weights, intermediate, gated):
    spec = ActivationSpec("silu", gated=gated)
    sizes = replace(WHOLE, intermediate=intermediate)
    plain = layer(sizes, weight_format=weights, activation=spec, bias1=gated)
    hold(in_layout(plain, layout))


def test_interleaved_gate_rows():
    hold(layer(gate_rows="interleaved", bias1=True))


@pytest.mark.parametrize("spec", [ActivationSpec("relu2", gated=False), ActivationSpec("situv2", linear_beta=25.0)])
def test_activations_between_the_products(spec):
    hold(layer(activation=spec))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_biases(dtype):
    request = layer(bias1=True, bias2=True)
    hold(replace(request, bias1=request.bias1.to(dtype), bias2=request.bias2.to(dtype)))


@pytest.mark.parametrize("order", ["before_bias", "after_activation", "ignored"])
def test_routing_weights_in_the_first_stage(order):
    hold(layer(doweight_stage1=True, bias1=True, bias2=True, numerics={"doweight_stage1": order}))


def test_experts_of_other_ranks_and_slots_without_an_expert():
    request = layer(MORE_EXPERTS)
    ids = request.topk_ids * 2 + 1
    ids[0], ids[1, 0], ids[2, 1] = torch.tensor([0, 2]), -1, 99
    weights = request.topk_weight.clone()
    weights[3, 1] = 0
    hold(replace(request, topk_ids=ids, topk_weight=weights, expert_mask=torch.tensor([0, 1] * 3)))


@pytest.mark.parametrize("counted", [2, torch.tensor([3], dtype=torch.int32)], ids=["number", "tensor"])
def test_tokens_that_do_not_count_give_zero(counted):
    hold(layer(num_local_tokens=counted))


def with_shared_expert(request, weights, **given):
    own = make(CPU, replace(SIZES, tokens=1, experts=1, choices=1), seed=9, weight_format=weights)
    matrices = {"shared_w1": own.w1, "shared_w2": own.w2}
    scales = {"shared_w1_scale": own.w1_scale, "shared_w2_scale": own.w2_scale}
    return replace(request, shared_weight_format=weights, **matrices, **scales, **given)


@pytest.mark.parametrize(
    ("weights", "shared_expert_id"),
    [("mxfp4", -1), ("mxfp8", -1), ("mxfp4", 1), ("mxfp8", 77)],
    ids=["for every token", "in another format", "with the id of a routed expert", "with an id of its own"],
)
def test_a_shared_expert(weights, shared_expert_id):
    request = layer(bias1=True, bias2=True, numerics={"doweight_stage1": "before_bias"}, doweight_stage1=True)
    ids = request.topk_ids.clone()
    ids[::2, 1] = shared_expert_id
    hold(with_shared_expert(request, weights, shared_expert_id=shared_expert_id, topk_ids=ids))


def test_a_shared_expert_beside_experts_of_other_ranks_and_fewer_tokens():
    request = layer(MORE_EXPERTS, num_local_tokens=4)
    mask = torch.tensor([0, 1] * 3)
    hold(with_shared_expert(request, "mxfp4", topk_ids=request.topk_ids * 2 + 1, expert_mask=mask))


@pytest.mark.parametrize("name", ["mxfp4", "mxfp8", "fp8_token"])
def test_tokens_that_are_codes_already(name):
    request = layer(WHOLE)
    own = ac.quantize(request.hidden_states, name)
    codes = own.codes if name == "mxfp4" else own.codes.view(torch.float8_e4m3fn)
    hold(replace(request, hidden_states=codes, a1_scale=own.scales, qdq_first="none"))


def test_tiles_that_cut_rows_and_tokens():
    request = layer(replace(MORE_EXPERTS, tokens=18, intermediate=64), bias1=True, bias2=True)
    crowded = replace(request, topk_ids=torch.tensor([[2, 0]] * 17 + [[2, 1]], dtype=torch.int32))
    hold(crowded, (PlainTiles(64, 16, 1, 4), PlainTiles(128, 32, 1, 4)))


def test_tiles_of_the_rule():
    hold(layer(), tiles=None)


@pytest.mark.parametrize("per_expert", [1, 12, 13, 48, 64, 96, 97, 4096])
def test_tiles_are_what_the_kernels_can_cut(per_expert):
    for tiles in plain_tiles_for(8 * per_expert, 8):
        # gate and up rows take turns by eight, and a program rounds whole blocks of 32 features
        assert tiles.rows % 64 == 0
        assert tiles.tokens >= 16  # what tensor cores multiply


def test_values_at_the_edges(at_the_edges):
    hold(at_the_edges(layer()), finite=False)


def test_weight_scales_of_nan(with_scales_of_nan):
    hold(with_scales_of_nan(layer()), finite=False)


@pytest.mark.parametrize("rule", SCALE_RULES)
def test_the_scale_rule_and_the_floor_of_block_maxima_are_the_profiles(rule):
    for factor in (1.0, 2.0**-35):  # the second gives both roundings blocks below the floor
        request = layer(numerics={"mxfp4_scale_rule": rule, "block_amax_floor": HIP_AMAX_FLOOR})
        hold(replace(request, hidden_states=request.hidden_states * factor))


def test_infinite_sums_that_the_limit_clamps_leave_a_finite_result():
    # Intermediate columns 96 to 127 do not exist: there, Inf meets codes of 0 in place of weights.
    request = layer(activation_format="none")
    hidden, w1 = request.hidden_states.clone(), request.w1.clone()
    hidden[0, 6] = float("inf")
    w1[:, :, 3] = 0x11  # 0.5 in columns 6 and 7 of every row: gate and up are +Inf, and 7 after the limit
    hold(replace(request, hidden_states=hidden, w1=w1))


def test_no_tokens():
    request = layer(replace(SIZES, tokens=0))
    assert run_plain(request).shape == (0, SIZES.hidden)
