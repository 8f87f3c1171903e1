"""AITER's shuffles under their own names: the same bytes, the same marks, wherever they run."""

import pytest
import torch

import aiter_compat as ac
from aiter_compat.layouts import unshuffle_scale_e8m0

EXPERTS = 2


@pytest.fixture
def weight(vectors):
    return torch.from_numpy(vectors("shuffles")["shuffle"]["w8"])


@pytest.fixture
def scale(vectors):
    return torch.from_numpy(vectors("shuffles")["scale"]["s"])


SHUFFLES = {
    "shuffle_16x16": ac.shuffle_weight,
    "shuffle_32x16": lambda weight: ac.shuffle_weight(weight, (32, 16)),
    "shuffle_int4": lambda weight: ac.shuffle_weight(weight, use_int4=True),
    "shuffle_NK": lambda weight: ac.shuffle_weight_NK(weight, 16, 64),
    "shuffle_NK32": lambda weight: ac.shuffle_weight_NK(weight, 32, 16),
    "shuffle_NK_int4": lambda weight: ac.shuffle_weight_NK(weight, 16, 64, True),
    "shuffle_a16w4_True": lambda weight: ac.shuffle_weight_a16w4(weight, 16, True),
    "shuffle_a16w4_False": lambda weight: ac.shuffle_weight(weight, is_guinterleave=True, gate_up=False),
    "shuffle_padded": lambda weight: ac.shuffle_weight(weight[:, :, :100], pad_k_to=64),
}
SCALE_SHUFFLES = {
    "scale_a16w4_True": lambda scale: ac.shuffle_scale_a16w4(scale, EXPERTS, True),
    "scale_a16w4_False": lambda scale: ac.shuffle_scale(scale, EXPERTS, is_guinterleave=True),
    "scale_a16w4_cols": lambda scale: ac.shuffle_scale_a16w4(scale[:, :5], EXPERTS, True),
}
ARCHITECTURES = ("gfx950", "gfx1250")
FLAGS = [(True, True), (True, False), (False, True), (False, False)]


@pytest.mark.parametrize("name", SHUFFLES)
def test_weights_are_shuffled_as_aiter_does(vectors, same, weight, name):
    before = weight.clone()
    assert same(SHUFFLES[name](weight), vectors("shuffles")[name]["out"])
    assert torch.equal(weight, before)


def test_wide_elements_are_shuffled_as_aiter_does(vectors, same):
    stored = vectors("shuffles")
    weight = torch.from_numpy(stored["shuffle"]["wb"]).view(torch.bfloat16)
    assert same(ac.shuffle_weight(weight), stored["shuffle_bf16"]["out"])


@pytest.mark.parametrize("name", SCALE_SHUFFLES)
def test_scales_are_shuffled_as_aiter_does(vectors, same, scale, name):
    assert same(SCALE_SHUFFLES[name](scale), vectors("shuffles")[name]["out"])


@pytest.mark.parametrize("shuffle", [ac.e8m0_shuffle, ac.shuffle_scale])
def test_the_padded_order_of_scales_is_aiters(vectors, scale, shuffle):
    case = vectors("shuffles")["scale_e8m0"]
    shuffled = shuffle(scale.view(torch.float8_e8m0fnu))
    assert shuffled.dtype == torch.float8_e8m0fnu
    assert list(shuffled.shape) == case["shape"].tolist()
    # what AITER leaves uninitialised is not compared
    assert torch.equal(unshuffle_scale_e8m0(shuffled.view(torch.uint8), *scale.shape), torch.from_numpy(case["out"]))


@pytest.mark.parametrize(("interleaved", "gate_up"), FLAGS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_shuffles_of_an_architecture_are_aiters(
    vectors, same, weight, scale, monkeypatch, architecture, interleaved, gate_up
):
    monkeypatch.setenv("GPU_ARCHS", architecture)
    stored, key = vectors("shuffles"), f"{architecture}_{interleaved}_{gate_up}"
    assert same(ac.moe_shuffle_weight(weight, EXPERTS, interleaved, gate_up), stored[f"moe_weight_{key}"]["out"])
    if f"moe_scale_{key}" in stored:  # else a padded one, of which AITER leaves parts uninitialised
        assert same(ac.moe_shuffle_scale(scale, EXPERTS, interleaved, gate_up), stored[f"moe_scale_{key}"]["out"])
    else:
        assert torch.equal(ac.moe_shuffle_scale(scale), ac.e8m0_shuffle(scale))


def test_the_scale_of_an_architecture_takes_experts_apart_as_well(scale, monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx1250")
    flat = ac.moe_shuffle_scale(scale, EXPERTS)
    assert torch.equal(flat, ac.moe_shuffle_scale(scale.view(EXPERTS, -1, scale.shape[-1])))


def test_fused_moe_reads_the_mark_that_aiter_sets(weight):
    for shuffled in (
        ac.shuffle_weight(weight),
        ac.shuffle_weight_a16w4(weight, 16, True),
        ac.moe_shuffle_weight(weight),
    ):
        assert shuffled.is_shuffled
    assert not hasattr(ac.shuffle_weight_NK(weight, 16, 64), "is_shuffled")
    padded = ac.shuffle_weight(weight[:, :, :100], pad_k_to=64)
    assert (padded.aiter_original_k, padded.aiter_padded_k) == (100, 128)


def test_packed_fp4_keeps_its_dtype(weight):
    fp4 = weight.view(ac.dtypes.fp4x2)
    shuffled = ac.shuffle_weight(fp4)
    assert shuffled.dtype == ac.dtypes.fp4x2
    assert torch.equal(shuffled.view(torch.uint8), ac.shuffle_weight(weight))


@pytest.mark.parametrize("shuffle", [ac.e8m0_shuffle, ac.shuffle_scale, ac.moe_shuffle_scale])
def test_none_and_fp32_scales_pass_through(shuffle):
    assert shuffle(None) is None
    fp32 = torch.ones(3, 5)
    assert shuffle(fp32) is fp32


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda weight: ac.shuffle_weight(weight[:, :, :100]), "weight"),
        (lambda weight: ac.shuffle_weight(weight, (24, 16)), "x"),
        (lambda weight: ac.shuffle_weight(weight, 16), "layout"),
        (lambda weight: ac.shuffle_weight(weight, pad_k_to=-1), "pad_k_to"),
        (lambda weight: ac.shuffle_weight(weight, use_int4=True, pad_k_to=64), "pad_k_to"),
        (lambda weight: ac.shuffle_weight(weight, (32, 16), is_guinterleave=True), "layout"),
        (lambda weight: ac.shuffle_weight(3), "x"),
        (lambda weight: ac.shuffle_weight_a16w4(weight, 32, True), "NLane"),
        (lambda weight: ac.shuffle_weight_NK(weight, 24, 64), "inst_N"),
        (lambda weight: ac.shuffle_weight_NK(weight, 16, 65), "inst_K"),
        (lambda weight: ac.shuffle_weight_NK(weight[:1], 32, 16, True), "x"),
        (ac.e8m0_shuffle, "scale"),
        (lambda weight: ac.e8m0_shuffle(weight.half()), "scale"),
        (lambda weight: ac.shuffle_scale(weight[0], is_guinterleave=True), "experts_cnt"),
    ],
)
def test_what_does_not_fit_is_named(weight, call, argument):
    with pytest.raises(ac.InvalidArgument) as raised:
        call(weight)
    assert raised.value.argument == argument
