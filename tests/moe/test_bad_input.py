"""Bad input gets one error of our own class that names the argument, what was given, what is allowed and what to do."""

import math

import pytest
import torch

import aiter_compat as ac

META = torch.device("meta")


def resized(name, *shape, dtype=None):
    """A change that gives the argument another shape."""
    return lambda call: {name: torch.zeros(shape, dtype=dtype or call[name].dtype)}


def typed(name, dtype):
    return lambda call: {name: call[name].to(dtype)}


def moved(name):
    return lambda call: {name: call[name].to(META)}


def constant(**changes):
    return lambda call: changes


# (weights, change, argument named, words in allowed or remedy)
TABLE = {
    "rank of hidden_states": ("bf16", resized("hidden_states", 64), "hidden_states", "2 dimensions"),
    "rank of w1": ("bf16", resized("w1", 64, 64), "w1", "3 dimensions"),
    "rank of w2": ("mxfp4", resized("w2", 4, 64, 16, 1), "w2", "3 dimensions"),
    "rank of topk_ids": ("bf16", resized("topk_ids", 5), "topk_ids", "2 dimensions"),
    "rank of topk_weight": ("bf16", resized("topk_weight", 10), "topk_weight", "2 dimensions"),
    "no tensor": ("bf16", constant(w1=[[1.0]]), "w1", "torch.Tensor"),
    "no routing": ("bf16", constant(topk_ids=None), "topk_ids", "torch.Tensor"),
    "dtype of hidden_states": ("bf16", typed("hidden_states", torch.float64), "hidden_states", "bfloat16"),
    "dtype of weights": ("bf16", typed("w1", torch.int64), "w1", "Name the quant type"),
    "packed weights without quant_type": ("mxfp4", constant(quant_type="no"), "w1", "Name the quant type"),
    "unpacked weights with per_1x32": ("bf16", constant(quant_type="per_1x32"), "w1", "torch.uint8"),
    "fp8 quant type over mxfp4": ("mxfp4", constant(quant_type="per_token"), "w1", "float8_e4m3fn"),
    "dtypes of w1 and w2 differ": ("bf16", typed("w2", torch.float16), "w2", "dtype of w1"),
    "dtype of topk_weight": ("bf16", typed("topk_weight", torch.complex64), "topk_weight", "float32"),
    "dtype of topk_ids": ("bf16", typed("topk_ids", torch.float32), "topk_ids", "int32"),
    "dtype of scales": ("mxfp4", typed("w1_scale", torch.float32), "w1_scale", "biased exponent"),
    "dtype of a bias": ("bf16", constant(bias1=torch.zeros(4, 64, dtype=torch.int32)), "bias1", "float32"),
    "dtype of the result": ("bf16", constant(dtype=torch.int32), "dtype", "bfloat16"),
    "dtype as text": ("bf16", constant(dtype="bfloat16"), "dtype", "torch.bfloat16"),
    "width of w1": ("bf16", resized("w1", 4, 64, 96), "w1", "64 columns"),
    "rows of w1": ("bf16", resized("w1", 4, 96, 64), "w1", "64 (gate and up) or 32"),
    "rows of w2": ("bf16", resized("w2", 4, 32, 32), "w2", "[4, 64, intermediate]"),
    "experts of w2": ("bf16", resized("w2", 3, 64, 32), "w2", "[4, 64, intermediate]"),
    "tokens of topk_ids": (
        "bf16",
        lambda call: {"topk_ids": call["topk_ids"][:3], "topk_weight": call["topk_weight"][:3]},
        "topk_ids",
        "[5, k]",
    ),
    "shapes of the routing differ": ("bf16", resized("topk_weight", 5, 3), "topk_weight", "that of topk_ids"),
    "no scales": ("mxfp4", constant(w1_scale=None), "w1_scale", "the scales of the weights"),
    "scales of the wrong shape": ("mxfp4", resized("w1_scale", 4, 64, 1), "w1_scale", "[4, 64, 2] or [256, 2]"),
    "w2's scales of the wrong shape": ("mxfp4", resized("w2_scale", 4, 64, 2), "w2_scale", "[4, 64, 1]"),
    "scales as a list": ("mxfp4", constant(w2_scale=[1.0]), "w2_scale", "torch.Tensor"),
    "scales without a quant type": ("bf16", constant(w1_scale=torch.ones(4)), "w1_scale", "Name the quant type"),
    "bias of the wrong shape": ("bf16", constant(bias1=torch.zeros(4, 32)), "bias1", "[4, 64]"),
    "bias as a list": ("bf16", constant(bias2=[0.0]), "bias2", "torch.Tensor"),
    "bias2 of rank 1": ("bf16", constant(bias2=torch.zeros(64)), "bias2", "2 dimensions"),
    "static scale as a number": ("bf16", constant(a1_scale=1.0), "a1_scale", "torch.Tensor"),
    "local tokens as a number": ("bf16", constant(num_local_tokens=3), "num_local_tokens", "torch.Tensor"),
    "two numbers of local tokens": ("bf16", constant(num_local_tokens=torch.tensor([3, 3])), "num_local_tokens", "one"),
    "local tokens as a float": ("bf16", constant(num_local_tokens=torch.ones(1)), "num_local_tokens", "int32"),
    "too many local tokens": ("bf16", constant(num_local_tokens=torch.tensor([6])), "num_local_tokens", "0 to 5"),
    "device of w1": ("bf16", moved("w1"), "w1", ".to('cpu')"),
    "device of topk_ids": ("bf16", moved("topk_ids"), "topk_ids", "where hidden_states is"),
    "device of scales": ("mxfp4", moved("w2_scale"), "w2_scale", "where hidden_states is"),
    "device of a bias": ("bf16", constant(bias2=torch.zeros(4, 64, device=META)), "bias2", "on cpu"),
    "unknown activation": ("bf16", constant(activation="swish"), "activation", "swiglu"),
    "unknown activation number": ("bf16", constant(activation=77), "activation", "ac.ActivationType"),
    "a flag as activation": ("bf16", constant(activation=True), "activation", "ac.ActivationType"),
    "unknown quant type": ("bf16", constant(quant_type="per_2x2"), "quant_type", "per_1x32"),
    "unknown quant type number": ("bf16", constant(quant_type=99), "quant_type", "ac.QuantType"),
    "an activation as quant type": ("bf16", constant(quant_type="swiglu"), "quant_type", "per_1x32"),
    "unknown gate mode": ("bf16", constant(gate_mode="interleaved"), "gate_mode", "separated, interleave"),
    "a number as gate mode": ("bf16", constant(gate_mode=1), "gate_mode", "ac.GateMode"),
    "unknown backend": ("bf16", constant(backend="rocm"), "backend", "emulation"),
    "unknown layout": ("bf16", constant(weight_layout="shuffled"), "weight_layout", "shuffle_16x16"),
    "unknown activation format": ("bf16", constant(activation_qdq="fp4"), "activation_qdq", "as_aiter"),
    "unknown numerics": ("bf16", constant(numerics="aiter-9"), "numerics", "quark"),
    "numerics as a number": ("bf16", constant(numerics=15), "numerics", "profile name"),
    "NaN limit": ("bf16", constant(swiglu_limit=math.nan), "swiglu_limit", "math.inf"),
    "negative limit": ("bf16", constant(swiglu_limit=-7.0), "swiglu_limit", "positive"),
    "limit as text": ("bf16", constant(swiglu_limit="7"), "swiglu_limit", "positive"),
    "limit as a tensor": ("bf16", constant(swiglu_limit=torch.tensor(7.0)), "swiglu_limit", "positive"),
    "limit of a function without one": (
        "bf16",
        constant(activation="relu2", swiglu_limit=7.0),
        "swiglu_limit",
        "no clamp",
    ),
    "limit without an up half": (
        "bf16",
        lambda call: {"w1": call["w1"][:, :32], "swiglu_limit": 7.0},
        "swiglu_limit",
        "without an up half",
    ),
    "beta of SiLU": ("bf16", constant(beta=1.0), "beta", "no beta"),
    "NaN beta": ("bf16", constant(activation="situv2", beta=math.nan), "beta", "finite"),
    "negative beta": ("bf16", constant(activation="situv2", linear_beta=-1.0), "linear_beta", "above 0"),
    "negative pad": ("bf16", constant(hidden_pad=-1), "hidden_pad", "from 0 up"),
    "pad as None": ("bf16", constant(intermediate_pad=None), "intermediate_pad", "whole number"),
    "pad as a float": ("bf16", constant(hidden_pad=64.0), "hidden_pad", "whole number"),
    "pad of everything": ("bf16", constant(intermediate_pad=32), "intermediate_pad", "0 to 31"),
    "a word as doweight_stage1": ("bf16", constant(doweight_stage1="no"), "doweight_stage1", "True or False"),
    "a word as block size": ("bf16", constant(block_size_M="64"), "block_size_M", "whole number"),
    "no dispatch policy": (
        "bf16",
        constant(moe_sorting_dispatch_policy=None),
        "moe_sorting_dispatch_policy",
        "whole number",
    ),
    "a word as shared expert": ("bf16", constant(shared_expert_id="last"), "shared_expert_id", "whole number"),
    "a16w4 with separated": ("mxfp4", constant(weight_layout="a16w4"), "weight_layout", "interleave"),
    "tiles with interleave": (
        "mxfp4",
        constant(weight_layout="shuffle_16x16", gate_mode="interleave"),
        "weight_layout",
        "a16w4",
    ),
    "a16w4 of unquantised weights": (
        "bf16",
        constant(weight_layout="a16w4", gate_mode="interleave"),
        "weight_layout",
        "shuffle_16x16",
    ),
    "mask of floats": ("bf16", constant(expert_mask=torch.ones(4)), "expert_mask", "bool or an integer"),
    "mask as a list": ("bf16", constant(expert_mask=[1, 1, 1, 1]), "expert_mask", "torch.Tensor"),
    "mask of rank 2": ("bf16", constant(expert_mask=torch.ones(1, 4, dtype=torch.int32)), "expert_mask", "1 dim"),
    "mask that is too short": (
        "bf16",
        constant(expert_mask=torch.ones(3, dtype=torch.int32)),
        "expert_mask",
        "at least",
    ),
    "mask of other experts": (
        "bf16",
        constant(expert_mask=torch.tensor([1, 1, 0, 0, 1])),
        "expert_mask",
        "4, the experts",
    ),
    "a map as mask": ("bf16", constant(expert_mask=torch.tensor([0, 1, -1, 2, 3])), "expert_mask", "expert_map="),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["auto", "emulation"])
@pytest.mark.parametrize("case", TABLE)
def test_bad_input(make_layer, without_aiter, case, backend):
    weights, change, argument, words = TABLE[case]
    call = make_layer(weights).call
    call = {"backend": backend} | call | change(call)
    with pytest.raises(ac.InvalidArgument) as caught:
        ac.fused_moe(**call)
    error = caught.value
    assert error.argument == argument
    assert words in f"{error.allowed} {error.remedy}"
    assert error.given
    assert f"{argument}: got " in str(error)
    if case != "too many local tokens":  # a value, which explain does not read
        with pytest.raises(ac.InvalidArgument):
            ac.explain(**call)


@pytest.mark.parametrize("sizes", [{"hidden": 48}, {"intermediate": 48}])
def test_sizes_that_a_block_of_32_does_not_divide(make_layer, sizes):
    layer = make_layer("bf16", **sizes)
    packed = {
        name: torch.zeros((*layer.call[name].shape[:2], layer.call[name].shape[2] // 2), dtype=torch.uint8)
        for name in ("w1", "w2")
    }
    with pytest.raises(ac.InvalidArgument, match=r"size 48; allowed: a multiple of 32.*Pad to 64 with zero weights"):
        ac.fused_moe(**layer.call | packed, quant_type="per_1x32")


def test_interleave_without_a_layout_is_ambiguous(make_layer):
    for backend in ("auto", "emulation"):
        with pytest.raises(ac.LayoutUnknown, match=r"a16w4.*logical"):
            ac.fused_moe(**make_layer().call, gate_mode="interleave", backend=backend)


def test_tiles_of_a_shape_that_does_not_divide(make_layer):
    layer = make_layer(hidden=96)
    with pytest.raises(ac.InvalidArgument):
        ac.fused_moe(**layer.call, weight_layout="shuffle_16x16")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quant_type": "per_256x128"}, "per_256x128"),
        ({"activation": "swiglu"}, "no non-gated form"),
        ({"gate_mode": "gate_only"}, "reserved"),
    ],
)
def test_what_only_aiter_could_compute(make_layer, without_aiter, change, words):
    layer = make_layer("bf16", gated="swiglu" not in change.values())
    if "quant_type" in change:
        change = change | {"w1_scale": torch.ones(1), "w2_scale": torch.ones(1)}
    with pytest.raises(ac.UnsupportedByEmulation, match=words):
        ac.fused_moe(**layer.call | change)


def test_arguments_that_python_itself_refuses(make_layer):
    with pytest.raises(TypeError, match="missing"):
        ac.fused_moe(make_layer().call["hidden_states"])
