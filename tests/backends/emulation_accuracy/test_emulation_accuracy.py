"""How exact every path is: 2.5e-3 of fp64 at a bf16 result, 1e-5 at fp32 once both read the same second operand.

And whatever a path computes, it computes again.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from aiter_compat.backends.emulation import ActivationSpec, run
from aiter_compat.layouts import shuffle_16x16, shuffle_a16w4, shuffle_scale_a16w4, shuffle_scale_e8m0
from aiter_compat.profiles import profile

ACTIVATIONS = {
    "silu": ActivationSpec("silu"),
    "silu, clamped": ActivationSpec("silu", limit=1.0),
    "gelu": ActivationSpec("gelu"),
    "gelu, clamped": ActivationSpec("gelu", limit=1.0),
    "gelu_tanh": ActivationSpec("gelu_tanh"),
    "relu2": ActivationSpec("relu2"),
    "swiglu": ActivationSpec("swiglu"),
    "swiglu, clamped": ActivationSpec("swiglu", limit=7.0),
    "swiglu, alpha 1, beta 0": ActivationSpec("swiglu", alpha=1.0, beta=0.0),
    "swiglustep": ActivationSpec("swiglustep", limit=1.0),
    "situv2": ActivationSpec("situv2", beta=4.0, linear_beta=25.0),
    "situv2, linear": ActivationSpec("situv2", beta=4.0),
    "silu, not gated": ActivationSpec("silu", gated=False),
    "gelu, not gated": ActivationSpec("gelu", gated=False),
    "gelu_tanh, not gated": ActivationSpec("gelu_tanh", gated=False),
    "relu2, not gated": ActivationSpec("relu2", gated=False),
}
TOKENS = [1, 2, 3, 4, 5, 16, 17, 64, 257, 1024, 4096]


def relative(computed: torch.Tensor, expected: torch.Tensor) -> float:
    return float((computed.double() - expected).norm() / expected.norm())


def check(path, fp64, request, *, as_read=None):
    """Both bounds; `as_read` is the request in the logical layout, where that is another one."""
    logical = as_read or request
    fp32 = path.run(replace(request, out_dtype=torch.float32))
    operand = path.second_operand(fp64.local_slots(logical)[0])
    exact = fp64.first_product(logical)
    # What is taken over has to be the activation's output itself, rounded: 2^-9 by bf16, then by the format.
    step = {"mxfp4": 0.2, "mxfp8": 0.05, "none": 3e-3}[request.qdq_second]
    assert relative(operand, exact) <= step
    assert relative(fp32, fp64.second_product(logical, operand)) <= 1e-5
    bf16 = path.run(replace(request, out_dtype=torch.bfloat16))
    assert bf16.dtype == torch.bfloat16
    assert relative(bf16, fp64.second_product(logical, operand)) <= 2.5e-3


@pytest.mark.parametrize("qdq", ["mxfp4", "mxfp8", "none"])
@pytest.mark.parametrize("spec", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_every_activation(path, fp64, layer, spec, qdq):
    check(path, fp64, layer(activation=spec, qdq=qdq))


@pytest.mark.parametrize("bias", [("bias1",), ("bias2",), ("bias1", "bias2")], ids=str)
def test_without_a_bias(path, fp64, layer, bias):
    check(path, fp64, replace(layer(), **dict.fromkeys(bias)))


@pytest.mark.parametrize(
    ("tokens", "qdq"),
    [*((tokens, "mxfp4") for tokens in TOKENS), *((tokens, "mxfp8") for tokens in TOKENS if tokens < 300)],
)
def test_every_number_of_tokens(path, fp64, layer, tokens, qdq):
    check(path, fp64, layer(tokens, experts=8, choices=2, hidden=64, intermediate=32, qdq=qdq))


def test_no_tokens(path, layer):
    assert path.run(layer(0)).shape == (0, 96)


@pytest.mark.parametrize(("hidden", "intermediate"), [(32, 32), (1056, 32), (32, 1056), (288, 544), (3072, 64)])
@pytest.mark.parametrize("tokens", [1, 9])
def test_every_size(path, fp64, layer, hidden, intermediate, tokens):
    check(path, fp64, layer(tokens, experts=4, choices=2, hidden=hidden, intermediate=intermediate))


@pytest.mark.parametrize("choices", [1, 5, 6])
def test_every_number_of_choices(path, fp64, layer, choices):
    check(path, fp64, layer(5, choices=choices))


def test_experts_of_other_ranks(path, fp64, layer):
    mask = torch.tensor([0, 1, 1, 0, 1, 0, 1, 1, 0, 1])
    request = layer(9, expert_mask=mask)
    ids = torch.randint(-1, 11, request.topk_ids.shape, generator=torch.Generator().manual_seed(3))
    check(path, fp64, replace(request, topk_ids=ids))


def test_slots_without_weight_and_tokens_that_do_not_count(path, fp64, layer):
    request = layer(9, num_local_tokens=torch.tensor([7]))
    request.topk_weight[3, :] = 0
    request.topk_weight[5, 1] = 0
    check(path, fp64, request)


@pytest.mark.parametrize("order", ["before_bias", "after_activation", "ignored"])
def test_the_routing_weight_in_stage_1(path, fp64, layer, order):
    check(path, fp64, layer(profile=profile(doweight_stage1=order), doweight_stage1=True))


def test_alternating_gate_rows(path, fp64, layer):
    check(path, fp64, layer(gate_rows="interleaved"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_hidden_states_in_other_dtypes(path, fp64, layer, dtype):
    request = layer(profile=profile(second_qdq_from="fp32"))
    check(path, fp64, replace(request, hidden_states=request.hidden_states.to(dtype)))


@pytest.mark.parametrize("path", ["plain", "torch"], indirect=True)  # the compiled one says that it reads no other
@pytest.mark.parametrize("layout", ["shuffle_16x16", "a16w4"])
def test_every_layout(path, fp64, layer, layout):
    request = layer(hidden=256, intermediate=256)
    if layout == "a16w4":
        shuffled = {
            "w1": shuffle_a16w4(request.w1, True),
            "w2": shuffle_a16w4(request.w2, False),
            "w1_scale": shuffle_scale_a16w4(request.w1_scale, None, True),
            "w2_scale": shuffle_scale_a16w4(request.w2_scale, None, False),
        }
    else:
        shuffled = {name: shuffle_16x16(getattr(request, name)) for name in ("w1", "w2")}
        shuffled |= {name: shuffle_scale_e8m0(getattr(request, name)) for name in ("w1_scale", "w2_scale")}
    check(path, fp64, replace(request, weight_layout=layout, **shuffled), as_read=request)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("tokens", [1, 16, 65])
def test_repeated_runs_with_one_and_several_threads(path, fp64, layer, threads, tokens, count):
    threads(count)
    request = layer(tokens, hidden=288, intermediate=160)
    first = path.run(request)
    check(path, fp64, request)
    for _ in range(3):
        assert torch.equal(path.run(request), first)


@pytest.mark.parametrize("path", ["compiled"], indirect=True)  # torch's GEMM chooses an order by the number of rows
@pytest.mark.parametrize("qdq", ["mxfp4", "mxfp8", "none"])
def test_a_tokens_bits_do_not_depend_on_the_other_tokens(path, layer, qdq):
    """The compiled kernels take rows one, two, three or four at a time, and columns in pieces that depend on it."""
    request = layer(11, experts=2, choices=2, hidden=2080, intermediate=1056, qdq=qdq)
    for scale in (request.w1_scale, request.w2_scale):  # far apart, or fp32 would hold every sum exactly
        scale.random_(100, 124, generator=torch.Generator().manual_seed(1))
    whole = path.run(request)
    for count in (1, 2, 3, 4, 5, 7):
        part = replace(
            request,
            hidden_states=request.hidden_states[:count],
            topk_ids=request.topk_ids[:count],
            topk_weight=request.topk_weight[:count],
        )
        assert torch.equal(path.run(part), whole[:count]), count


@pytest.mark.parametrize(("hidden", "intermediate"), [(1, 1), (37, 51), (130, 129)])
@pytest.mark.parametrize("tokens", [1, 6])
def test_odd_sizes_of_unquantised_weights(layer, hidden, intermediate, tokens):
    random = torch.Generator().manual_seed(hidden)
    w1, w2 = (
        torch.randn(4, 2 * intermediate, hidden, generator=random),
        torch.randn(4, hidden, intermediate, generator=random),
    )
    request = replace(
        layer(tokens, experts=4, choices=2, activation=ActivationSpec("silu"), bias=False, qdq="none"),
        hidden_states=torch.randn(tokens, hidden, generator=random),
        w1=w1,
        w2=w2,
        w1_scale=None,
        w2_scale=None,
        quant_type="no",
        weight_format="unquantised",
        profile=profile(second_qdq_from="fp32"),
    )
    expected = torch.zeros(tokens, hidden, dtype=torch.float64)
    for token in range(tokens):
        for expert, weight in zip(request.topk_ids[token].tolist(), request.topk_weight[token].tolist(), strict=True):
            gate, up = (w1[expert].double() @ request.hidden_states[token].double()).chunk(2)
            expected[token] += weight * (w2[expert].double() @ (gate * torch.sigmoid(gate) * up))
    assert relative(run(request), expected) <= 1e-5
