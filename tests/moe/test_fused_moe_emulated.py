"""`fused_moe` on a machine without AITER equals an independent dense MoE, however the call is spelt."""

import inspect
import math

import numpy as np
import pytest
import torch

import aiter_compat as ac

pytestmark = pytest.mark.usefixtures("without_aiter")

BF16 = 6e-3
"""Relative L2 of one rounding to bf16 between the GEMMs and one at the end."""


@pytest.mark.parametrize("weights", ["mxfp4", "bf16", "fp16"])
@pytest.mark.parametrize("activation", ["silu", "gelu", "swiglu"])
def test_activations_over_both_kinds_of_weights(make_layer, distance, weights, activation):
    layer = make_layer(weights)
    out = ac.fused_moe(**layer.call, activation=activation, activation_qdq="none")
    limit = 7.0 if activation == "swiglu" else None
    assert out.dtype == layer.call["hidden_states"].dtype
    assert distance(out, layer.dense(activation=activation, limit=limit, round_intermediate=False)) < BF16


@pytest.mark.parametrize("qdq", ["mxfp4", "mxfp8"])
def test_activations_are_quantised_before_both_gemms(make_layer, distance, qdq):
    layer = make_layer(tokens=8)
    out = ac.fused_moe(**layer.call, activation_qdq=qdq, dtype=torch.float32)
    assert distance(out, layer.dense(qdq=qdq)) < 1e-2
    assert distance(out, layer.dense()) > 2e-2  # leaving QDQ out shows


def test_as_aiter_is_the_releases_own_choice(make_layer):
    layer = make_layer()
    chosen = ac.explain(**layer.call)
    assert (chosen.activation_format, chosen.numerics) == ("mxfp4", "aiter-0.1.15")
    assert torch.equal(ac.fused_moe(**layer.call), ac.fused_moe(**layer.call, activation_qdq="mxfp4"))
    swiglu = ac.explain(**layer.call, activation="swiglu")
    assert swiglu.activation_format == "none"
    assert "below 256 tokens" in swiglu.activation_format_reason


@pytest.mark.parametrize("gated", [True, False])
def test_biases_router_weights_in_stage_1_and_no_up_half(make_layer, distance, gated):
    layer = make_layer("bf16", gated=gated)
    options = {name: bias.double().numpy() for name, bias in layer.biases.items()}
    out = ac.fused_moe(**layer.call, **layer.biases, doweight_stage1=True, dtype=torch.float32)
    expected = layer.dense(doweight_stage1=True, round_intermediate=False, **options)
    assert distance(out, expected) < 5e-3
    assert distance(out, layer.dense(round_intermediate=False, **options)) > 2e-2


@pytest.mark.parametrize(("limit", "bound"), [(0.5, 0.5), (None, 7.0), (0.0, 7.0), (7.0, 7.0), (math.inf, None)])
def test_swiglu_limit(make_layer, distance, limit, bound):
    layer = make_layer("bf16")
    layer.call["hidden_states"] *= 8  # far enough out for 7.0 to bite
    out = ac.fused_moe(**layer.call, activation="swiglu", swiglu_limit=limit, dtype=torch.float32)
    expected = layer.dense(activation="swiglu", limit=bound, round_intermediate=False)
    assert distance(out, expected) < 5e-3
    other = layer.dense(activation="swiglu", limit=3.0, round_intermediate=False)
    assert distance(out, other) > 2e-2


@pytest.mark.parametrize(("limit", "bound"), [(0.5, 0.5), (None, None), (0.0, None), (math.inf, None)])
def test_silu_has_no_limit_of_its_own(make_layer, distance, limit, bound):
    layer = make_layer("bf16")
    out = ac.fused_moe(**layer.call, swiglu_limit=limit, dtype=torch.float32)
    assert distance(out, layer.dense(limit=bound, round_intermediate=False)) < 5e-3


def test_an_expert_mask_numbers_local_experts_in_order(make_layer, distance):
    layer = make_layer("bf16", experts=3)
    mask = torch.tensor([0, 1, 0, 1, 1, 0])
    global_ids = torch.tensor([[0, 1], [3, 4], [5, 2], [4, 1], [1, 3]], dtype=torch.int32)
    call = layer.call | {"topk_ids": global_ids}
    local_of = torch.tensor([-1, 0, -1, 1, 2, -1])
    out = ac.fused_moe(**call, expert_mask=mask, dtype=torch.float32)
    expected = layer.dense(ids=local_of[global_ids.long()], round_intermediate=False)
    assert distance(out, expected) < 5e-3
    assert not out[2].any()  # both experts live elsewhere


def test_num_local_tokens_leaves_the_rest_zero(make_layer):
    layer = make_layer("bf16")
    out = ac.fused_moe(**layer.call, num_local_tokens=torch.tensor([3], dtype=torch.int32))
    assert torch.equal(out[:3], ac.fused_moe(**layer.call)[:3])
    assert not out[3:].any()


def test_thirteen_arguments_are_positional_in_aiters_order(make_layer):
    names = [
        "hidden_states", "w1", "w2", "topk_weight", "topk_ids", "expert_mask", "activation", "quant_type",
        "doweight_stage1", "w1_scale", "w2_scale", "a1_scale", "a2_scale",
    ]  # fmt: skip
    parameters = list(inspect.signature(ac.fused_moe).parameters.values())
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == names
    layer = make_layer()
    call = layer.call | {"activation": "gelu", "doweight_stage1": True}
    assert torch.equal(ac.fused_moe(*(call.get(name) for name in names[:5]), None, "gelu", "per_1x32", True,
                                    call["w1_scale"], call["w2_scale"], None, None),
                       ac.fused_moe(**call))  # fmt: skip


def test_names_members_and_integers_mean_the_same(make_layer):
    layer = make_layer()
    call = layer.without("quant_type")
    expected = ac.fused_moe(**call, activation="swiglu", quant_type="per_1x32", gate_mode="separated")
    for activation in (ac.ActivationType.Swiglu, 2, "SwiGLU"):
        for quant_type in (ac.QuantType.per_1x32, 3, "PER_1X32"):
            for gate_mode in (ac.GateMode.SEPARATED, None, "Separated"):
                out = ac.fused_moe(**call, activation=activation, quant_type=quant_type, gate_mode=gate_mode)
                assert torch.equal(out, expected)
    assert not torch.equal(ac.fused_moe(**layer.call, activation=0), expected)


@pytest.mark.parametrize("ids", [torch.int64, torch.int16, torch.uint8])
@pytest.mark.parametrize("weight", [torch.bfloat16, torch.float64])
def test_routing_dtypes_are_normalised(make_layer, ids, weight):
    layer = make_layer("bf16")
    rounded = layer.call["topk_weight"].to(weight)
    changed = layer.call | {"topk_ids": layer.call["topk_ids"].to(ids), "topk_weight": rounded}
    same = layer.call | {"topk_weight": rounded.float()}
    assert torch.equal(ac.fused_moe(**changed), ac.fused_moe(**same))


@pytest.mark.parametrize("weights", ["mxfp4", "bf16"])
def test_no_tokens_give_no_rows(make_layer, weights):
    out = ac.fused_moe(**make_layer(weights, tokens=0).call)
    assert tuple(out.shape) == (0, 64)
    assert out.dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_dtype_is_that_of_the_result(make_layer, distance, dtype):
    layer = make_layer("bf16")
    out = ac.fused_moe(**layer.call, dtype=dtype)
    assert out.dtype == dtype
    assert distance(out, layer.dense(round_intermediate=False)) < BF16


@pytest.mark.parametrize("backend", ["auto", "emulation", "torch", "Torch"])
def test_every_name_of_the_emulation_computes_the_same(make_layer, backend):
    layer = make_layer()
    assert torch.equal(ac.fused_moe(**layer.call, backend=backend), ac.fused_moe(**layer.call))


def test_the_triton_path_is_refused_by_reason_where_it_does_not_serve_the_call(make_layer):
    with pytest.raises(ac.UnsupportedByEmulation, match=r"the triton path does not serve this call: .* on cpu"):
        ac.fused_moe(**make_layer().call, backend="triton")


def test_the_compiled_path_is_refused_by_reason_where_it_does_not_serve_the_call(make_layer):
    """Unquantised weights are not its subject; without numba nothing is."""
    with pytest.raises(ac.UnsupportedByEmulation, match="the compiled path does not serve this call: "):
        ac.fused_moe(**make_layer("bf16").call, backend="compiled")


def test_backend_aiter_without_aiter_says_so(make_layer):
    with pytest.raises(ac.AiterImportError, match=r"AITER is not installed.*Install AITER"):
        ac.fused_moe(**make_layer().call, backend="aiter")


def test_keywords_that_no_recorded_release_has(make_layer):
    layer = make_layer()
    with pytest.raises(ac.UnsupportedByEmulation, match=r"stage2_scatter: no recorded AITER release"):
        ac.fused_moe(**layer.call, stage2_scatter=1)
    assert torch.equal(ac.fused_moe(**layer.call, stage2_scatter=None), ac.fused_moe(**layer.call))


def test_scales_may_be_flattened_and_weights_typed(make_layer):
    layer = make_layer()
    expected = ac.fused_moe(**layer.call)
    typed = {name: layer.call[name].view(torch.float4_e2m1fn_x2) for name in ("w1", "w2")}
    flat = {name: layer.call[name].flatten(0, 1).view(torch.float8_e8m0fnu) for name in ("w1_scale", "w2_scale")}
    assert torch.equal(ac.fused_moe(**(layer.call | typed | flat)), expected)


def test_pads_change_nothing(make_layer):
    layer = make_layer(hidden=256, intermediate=128)
    padded = {"hidden_pad": 128, "intermediate_pad": 64}
    assert torch.equal(ac.fused_moe(**layer.call, **padded), ac.fused_moe(**layer.call))
    decision = ac.explain(**layer.call, **padded)
    assert (decision.hidden_pad, decision.intermediate_pad) == (128, 64)
    assert any("full padded size" in note for note in decision.notes)


def test_hints_change_nothing(make_layer):
    layer = make_layer("bf16")
    hints = {"block_size_M": 64, "moe_sorting_dispatch_policy": 1, "splitk": 2}
    assert torch.equal(ac.fused_moe(**layer.call, **hints), ac.fused_moe(**layer.call))


def test_stated_layouts_are_undone(make_layer):
    from aiter_compat.layouts import shuffle_16x16, shuffle_a16w4, shuffle_scale_a16w4, shuffle_scale_e8m0

    layer = make_layer(hidden=256, intermediate=256)
    expected = ac.fused_moe(**layer.call, activation="swiglu")
    names = ("w1", "w2")
    tiles = {name: shuffle_16x16(layer.call[name]) for name in names}
    tiles |= {f"{name}_scale": shuffle_scale_e8m0(layer.call[f"{name}_scale"]) for name in names}
    call = layer.call | tiles | {"activation": "swiglu"}
    assert torch.equal(ac.fused_moe(**call, weight_layout="shuffle_16x16"), expected)
    assert not torch.equal(ac.fused_moe(**call | {f"{n}_scale": layer.call[f"{n}_scale"] for n in names}), expected)
    a16w4 = {name: shuffle_a16w4(layer.call[name], name == "w1") for name in names}
    a16w4 |= {f"{n}_scale": shuffle_scale_a16w4(layer.call[f"{n}_scale"], 4, n == "w1") for n in names}
    call = layer.call | a16w4 | {"activation": "swiglu", "gate_mode": "interleave"}
    same_qdq = ac.fused_moe(**layer.call, activation="swiglu", activation_qdq="none")
    assert torch.equal(ac.fused_moe(**call, weight_layout="a16w4", activation_qdq="none"), same_qdq)
    for weight in (call["w1"], tiles["w1"]):
        weight.is_shuffled = True  # AITER's mark, which says the same
    assert torch.equal(ac.fused_moe(**call, activation_qdq="none"), same_qdq)
    assert torch.equal(ac.fused_moe(**layer.call | tiles | {"activation": "swiglu"}), expected)


def test_numerics_by_name_or_with_overrides(make_layer):
    layer = make_layer(tokens=8)
    base = ac.fused_moe(**layer.call, dtype=torch.float32)
    named = ac.fused_moe(**layer.call, numerics="aiter-0.1.15.post3", dtype=torch.float32)
    assert torch.equal(named, base)
    overridden = ac.numerics("aiter-0.1.15", mxfp4_scale_rule="even")
    assert not torch.equal(ac.fused_moe(**layer.call, numerics=overridden, dtype=torch.float32), base)
    assert ac.explain(**layer.call, numerics=overridden).numerics == "aiter-0.1.15 with overrides"
    assert ac.explain(**layer.call, numerics="quark").numerics == "quark"


def test_static_fp8_scales_and_quantised_tokens(make_layer, distance):
    layer = make_layer("bf16")
    fp8 = {name: layer.call[name].to(torch.float8_e4m3fn) for name in ("w1", "w2")}
    scales = {"w1_scale": torch.ones(4, 64, 1), "w2_scale": torch.ones(4, 64, 1)}
    call = layer.call | fp8 | scales | {"quant_type": "per_token"}
    values = type(layer)(layer.call, *(weight.double().numpy() for weight in fp8.values()))
    out = ac.fused_moe(**call, activation_qdq="none", dtype=torch.float32)
    assert distance(out, values.dense(round_intermediate=False)) < 5e-3
    rounded = ac.fused_moe(**call, dtype=torch.float32)  # as AITER: fp8 per token
    assert 5e-3 < distance(rounded, values.dense(round_intermediate=False)) < 0.1
    assert np.isfinite(rounded.numpy()).all()
