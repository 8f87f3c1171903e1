"""AITER's quantisers without AITER: the same codes and scales in the same shapes and dtypes."""

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import aiter_compat as ac
from aiter_compat.formats import Quantized, dequantize
from aiter_compat.layouts import unshuffle_scale_e8m0

FP8 = torch.float8_e4m3fn
TORCH_CASES = {
    "per_tensor": ("per_tensor", {"quant_dtype": FP8}),
    "per_tensor_i8": ("per_tensor", {"quant_dtype": torch.int8}),
    "per_token": ("per_token", {"quant_dtype": FP8}),
    "per_token_i8": ("per_token", {"quant_dtype": torch.int8}),
    "per_token_fnuz": ("per_token", {"quant_dtype": torch.float8_e4m3fnuz}),
    "per_1x128": ("per_1x128", {"quant_dtype": FP8}),
    "per_1x32": ("per_1x32", {"numerics": "aiter-0.1.20"}),
}


@pytest.fixture
def x(vectors):
    """[6, 256] bf16: zeros of both signs, subnormals, a zero row, ties, magnitudes from 1e-6 to 1e4."""
    return torch.from_numpy(vectors("quantisers")["quant"]["x"]).bfloat16()


@pytest.mark.parametrize("name", TORCH_CASES)
def test_the_torch_quantisers_equal_aiters(vectors, same, x, name):
    quant_type, keywords = TORCH_CASES[name]
    codes, scales = ac.get_torch_quant(quant_type)(x, **keywords)
    case = vectors("quantisers")[f"quant_{name}"]
    assert same(codes, case["codes"])
    assert same(scales, case["scales"])


def test_the_scale_rule_is_that_of_the_release(vectors, same, x):
    case = vectors("quantisers")["quant_per_1x32"]
    codes, scales = ac.per_1x32_f4_quant(x)  # without AITER that of v0.1.15
    assert same(codes, case["codes_0_1_15"])
    assert same(scales, case["scales_0_1_15"])
    assert not np.array_equal(case["scales"], case["scales_0_1_15"])


@pytest.mark.parametrize("mode", range(4))
def test_a_round_mode_wins_over_the_release(vectors, same, x, mode):
    codes, scales = ac.per_1x32_f4_quant(x, round_mode=mode)
    case = vectors("quantisers")[f"quant_round{mode}"]
    assert same(codes, case["codes"])
    assert same(scales, case["scales"])


def test_blocks_along_the_first_dimension(vectors, same, x):
    codes, scales = ac.per_1x32_f4_quant(x.t().contiguous()[:64], pack_dim=0, numerics="aiter-0.1.20")
    case = vectors("quantisers")["quant_per_1x32_first"]
    assert same(codes, case["codes"])
    assert same(scales, case["scales"])


def test_shuffled_scales_hold_the_same(vectors, x):
    _, scales = ac.per_1x32_f4_quant(x, shuffle=True, numerics="aiter-0.1.20")
    assert scales.shape == (256, 8)
    expected = torch.from_numpy(vectors("quantisers")["quant_per_1x32_shuffled"]["scales"])
    assert torch.equal(unshuffle_scale_e8m0(scales.view(torch.uint8), 6, 8), expected)


def test_int4_weights_equal_aiters(vectors, same):
    case = vectors("quantisers")["quant_i4"]
    weight = torch.from_numpy(case["x"]).bfloat16()
    codes, scales = ac.per_1x32_i4_quant(weight)
    assert same(codes, case["codes"])
    assert same(scales, case["scales"])
    packed = ac.quantize(weight, "int4_1x32")
    assert torch.equal(dequantize(packed), codes.float() * scales.float().transpose(-1, -2).repeat_interleave(32, -1))


def test_a_smooth_scale_is_applied_first(vectors, same, x):
    case = vectors("quantisers")["quant_smooth"]
    codes, scales = ac.pertoken_quant(x, x_scale=torch.from_numpy(case["smooth"]))
    assert same(codes, case["codes"])
    assert same(scales, case["scales"])


@pytest.mark.parametrize("name", ["bf16", "fp32", "short", "m40"])
def test_dynamic_mxfp4_quant_equals_aiters_triton_kernel(vectors, same, name):
    """`short` has a last block of 4 elements; bf16 and fp32 hold zeros, ties, subnormals, Inf and huge values."""
    case = vectors("quantisers")[f"triton_{name}"]
    x = torch.from_numpy(case["x"])
    codes, scales = ac.dynamic_mxfp4_quant(x.bfloat16() if name == "bf16" else x)
    assert same(codes, case["codes"])
    assert same(scales, case["scales"])
    assert scales.stride() == (1, len(x))


def test_the_two_functions_called_dynamic_mxfp4_quant():
    x = torch.randn(5, 96)
    codes, scales = ac.dynamic_mxfp4_quant(x)
    plain_codes, plain_scales = ac.dynamic_mxfp4_quant(x, shuffle=False)
    assert (codes.dtype, scales.dtype) == (torch.uint8, torch.uint8)
    assert (plain_codes.dtype, plain_scales.dtype) == (ac.dtypes.fp4x2, ac.dtypes.fp8_e8m0)
    assert plain_scales.is_contiguous()
    assert torch.equal(plain_codes.view(torch.uint8), codes)
    assert torch.equal(plain_scales.view(torch.uint8), scales)
    _, shuffled = ac.dynamic_mxfp4_quant(x, shuffle=True)
    assert shuffled.shape == (256, 8)
    assert torch.equal(unshuffle_scale_e8m0(shuffled.view(torch.uint8), 5, 3), scales)
    assert shuffled.view(torch.uint8).count_nonzero() == 15  # pads are 0


VALUES = st.one_of(
    st.floats(width=32, allow_nan=False),
    st.sampled_from([0.0, -0.0, 1e-45, -1e-40, math.inf, -math.inf, math.nan, 448.0, 1e-11]),
)


@settings(deadline=None)
@example([0.0] * 31 + [39.0], "fp4x2")  # 39 / 8 = 4.875 lies between 4 and 6, and 4 is nearer
@example([0.0] * 31 + [1.75 * 2.0**127], "fp4x2")  # rounds to 2^128, which fp32 does not hold
@given(st.lists(VALUES, min_size=32, max_size=32), st.sampled_from(["fp4x2", "fp8", "fp8_e8m0"]))
def test_hip_blocks_stay_within_half_a_step_of_the_input(values, kind):
    x = torch.tensor([values])
    fp4 = kind == "fp4x2"
    keywords = {} if fp4 else {"quant_dtype": FP8, "scale_type": torch.float32 if kind == "fp8" else ac.dtypes.fp8_e8m0}
    codes, scales = ac.get_hip_quant("per_1x32")(x, numerics="aiter-0.1.20", **keywords)
    assert codes.shape == (1, 16 if fp4 else 32)
    assert scales.shape == (1, 1)
    if not x.isfinite().all():
        return
    amax = max(x.abs().max().item(), 1e-10)
    fmt = {"fp4x2": "mxfp4", "fp8": "fp8_1x32", "fp8_e8m0": "mxfp8"}[kind]
    # What fp32 does not hold is Inf when it is restored, so large values are restored 2^-10 of their size.
    down = 10 if amax > 1e30 else 0
    stored = scales.view(torch.uint8) - down if scales.element_size() == 1 else scales * 2.0**-down
    restored = dequantize(Quantized(codes.view(torch.uint8), stored, fmt)).double() * 2.0**down
    # Half the largest gap over where it begins: 1 from 4 on for e2m1 (4, 6), 16 from 256 on for e4m3 (256, 288, …).
    step = amax * (1 / 4 if fp4 else 16 / 256)
    assert ((restored - x.double()).abs() <= step * 1.001).all()


@settings(deadline=None)
@given(st.lists(VALUES, min_size=6, max_size=6), st.sampled_from([torch.int8, FP8, torch.float8_e4m3fnuz]))
def test_hip_rows_have_a_scale_for_each_row_and_never_leave_the_range(values, dtype):
    x = torch.tensor(values).view(2, 3)
    codes, scales = ac.per_token_quant_hip(x, quant_dtype=dtype)
    assert (codes.shape, codes.dtype, scales.shape, scales.dtype) == ((2, 3), dtype, (2, 1), torch.float32)
    largest = 127 if dtype == torch.int8 else torch.finfo(dtype).max
    for row, code, scale in zip(x, codes.float(), scales, strict=True):
        if row.isfinite().all():
            assert scale.item() == pytest.approx(row.abs().max().item() / largest, rel=1e-6, abs=1e-44)
            assert (code.abs() <= largest).all()


def test_hip_zero_rows_and_tiny_groups():
    zeros = torch.zeros(2, 256).bfloat16()
    codes, scales = ac.per_token_quant_hip(zeros, quant_dtype=FP8)
    assert not scales.any()
    assert not codes.float().any()
    _, group_scales = ac.per_group_quant_hip(zeros, quant_dtype=FP8)
    assert group_scales.flatten().tolist() == pytest.approx([1e-10 / 448] * 4)
    _, e8m0 = ac.per_1x32_f4_quant_hip(zeros, numerics="aiter-0.1.15")
    assert set(e8m0.view(torch.uint8).flatten().tolist()) == {92}


def test_transposed_group_scales_keep_their_shape_and_change_their_memory():
    x = torch.randn(3, 256)
    codes, scales = ac.per_group_quant_hip(x, quant_dtype=FP8)
    same_codes, moved = ac.per_group_quant_hip(x, quant_dtype=FP8, transpose_scale=True)
    assert torch.equal(codes.view(torch.uint8), same_codes.view(torch.uint8))
    assert moved.shape == scales.shape == (3, 2)
    assert torch.equal(moved.view(2, 3).t(), scales)
    _, kept = ac.per_group_quant_hip(x, transpose_scale=True)  # int8
    assert torch.equal(kept, ac.per_group_quant_hip(x)[1])
    _, e8m0 = ac.per_group_quant_hip(x, quant_dtype=FP8, transpose_scale=True, scale_type=ac.dtypes.fp8_e8m0)
    assert (e8m0.shape, e8m0.dtype) == ((3, 2), ac.dtypes.fp8_e8m0)


def test_int8_truncates_towards_zero():
    codes, scale = ac.per_tensor_quant_hip(torch.tensor([[12.7, -12.69, 0.19, -0.19]]))
    assert scale.item() == pytest.approx(0.1)
    assert codes.tolist() == [[127, -126, 1, -1]]


def test_given_tensors_are_written():
    x = torch.randn(4, 64).bfloat16()
    out, scale = torch.empty(4, 64, dtype=FP8), torch.empty(1)
    ac.dynamic_per_tensor_quant(out, x, scale)
    codes, expected = ac.per_tensor_quant_hip(x, quant_dtype=FP8)
    assert torch.equal(out.view(torch.uint8), codes.view(torch.uint8))
    assert torch.equal(scale, expected)
    static = torch.empty(4, 64, dtype=FP8)
    ac.static_per_tensor_quant(static, x, scale)
    assert torch.equal(static.view(torch.uint8), out.view(torch.uint8))
    scales = torch.empty(4, 1)
    ac.dynamic_per_token_scaled_quant(out, x, scales)
    codes, expected = ac.per_token_quant_hip(x, quant_dtype=FP8)
    assert torch.equal(out.view(torch.uint8), codes.view(torch.uint8))
    assert torch.equal(scales, expected)


@pytest.mark.parametrize("get", [ac.get_hip_quant, ac.get_torch_quant, ac.get_triton_quant])
def test_a_quantiser_is_found_by_name_member_and_integer_and_is_the_same_each_time(get):
    assert get("per_Token") is get(ac.QuantType.per_Token) is get(2)
    x = torch.randn(2, 128)
    assert get("no")(x, quant_dtype=FP8) == (x, None)
    codes, scales = get("per_1x128")(x, quant_dtype=FP8)
    assert (codes.dtype, tuple(scales.shape)) == (FP8, (2, 1))
    with pytest.raises(ac.InvalidArgument, match="qType: got per_128x128; allowed: no, per_tensor"):
        get("per_128x128")


@pytest.mark.parametrize("quantise", [ac.per_token_quant_hip, ac.pertoken_quant])
def test_no_rows_are_no_matter(quantise):
    codes, scales = quantise(torch.empty(0, 128), quant_dtype=FP8)
    assert (tuple(codes.shape), tuple(scales.shape)) == ((0, 128), (0, 1))
    codes, scales = ac.dynamic_mxfp4_quant(torch.empty(0, 64))
    assert (tuple(codes.shape), tuple(scales.shape)) == ((0, 32), (0, 2))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: ac.dynamic_mxfp4_quant(x[:, :6]), "x"),
        (lambda x: ac.dynamic_mxfp4_quant(x[0]), "x"),
        (lambda x: ac.dynamic_mxfp4_quant(x, "floor"), "scaling_mode"),
        (lambda x: ac.per_1x32_f4_quant_hip(x[:, :33]), "x"),
        (lambda x: ac.per_1x32_f4_quant_hip(x, scale=torch.ones(1)), "scale"),
        (lambda x: ac.per_1x32_mx_quant_hip(x, quant_dtype=torch.int8), "quant_dtype"),
        (lambda x: ac.per_1x32_mx_quant_hip(x, quant_dtype=FP8, shuffle=True), "shuffle"),
        (lambda x: ac.per_1x32_f4_quant(x, round_mode=4), "round_mode"),
        (lambda x: ac.per_1x32_f4_quant(x[None], pack_dim=0), "pack_dim"),
        (lambda x: ac.per_group_quant_hip(x, group_size=48), "group_size"),
        (lambda x: ac.per_group_quant_hip(x, group_size=64, scale_type=ac.dtypes.fp8_e8m0), "scale_type"),
        (lambda x: ac.per_token_quant_hip(x, torch.ones(1)), "scale"),
        (lambda x: ac.per_token_quant_hip(x, quant_dtype=torch.float16), "quant_dtype"),
        (lambda x: ac.per_tensor_quant_hip(x, torch.ones(2)), "scale"),
        (lambda x: ac.per_tensor_quant(x[:0]), "x"),
        (lambda x: ac.static_per_tensor_quant(torch.empty(1), x, torch.ones(1)), "out"),
        (lambda x: ac.dynamic_per_tensor_quant(torch.empty_like(x, dtype=FP8), x, torch.ones(1).half()), "scale"),
        (lambda x: ac.per_1x32_i4_quant(x, 48), "group_size"),
    ],
)
def test_what_does_not_fit_is_named(call, argument):
    with pytest.raises(ac.InvalidArgument) as raised:
        call(torch.randn(4, 64))
    assert raised.value.argument == argument
