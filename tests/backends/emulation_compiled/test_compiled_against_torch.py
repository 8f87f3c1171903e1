"""The compiled path gives what the torch path gives, whatever a call asks for.

Differences between the two can only come from the order in which fp32 sums are made and from the last bit of the
activation function. Where such a difference crosses a rounding boundary an element moves by one step; the seeds of
these tests have no such element, so the bound is the plain one.
"""

import dataclasses

import pytest
import torch

from aiter_compat.backends.emulation import ActivationSpec, run, run_compiled
from aiter_compat.profiles import profile

SPECS = {
    "silu": ActivationSpec("silu"),
    "silu clamped": ActivationSpec("silu", limit=0.1),
    "gelu": ActivationSpec("gelu"),
    "gelu_tanh": ActivationSpec("gelu_tanh"),
    "relu2": ActivationSpec("relu2"),
    "swiglu": ActivationSpec("swiglu"),
    "swiglu clamped": ActivationSpec("swiglu", limit=0.5),
    "swiglustep": ActivationSpec("swiglustep", limit=1.0),
    "situv2": ActivationSpec("situv2", beta=4.0, linear_beta=25.0),
    "situv2 linear": ActivationSpec("situv2", beta=4.0),
    "silu alone": ActivationSpec("silu", gated=False),
    "gelu alone": ActivationSpec("gelu", gated=False),
    "gelu_tanh alone": ActivationSpec("gelu_tanh", gated=False),
    "relu2 alone": ActivationSpec("relu2", gated=False),
}


def assert_same(request, bound=1e-6):
    expected, result = run(request), run_compiled(request)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    assert torch.equal(result.isnan(), expected.isnan())
    expected, result = expected.double().nan_to_num(), result.double().nan_to_num()
    assert (result - expected).norm() <= bound * expected.norm()


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("qdq", ["mxfp4", "none"])
def test_every_activation(request_of, spec, bias, qdq):
    assert_same(request_of(5, activation=spec, bias=bias, qdq=qdq))


@pytest.mark.parametrize("first", ["mxfp4", "mxfp8", "none"])
@pytest.mark.parametrize("second", ["mxfp4", "mxfp8", "none"])
def test_every_pair_of_activation_formats(request_of, first, second):
    assert_same(request_of(7, qdq=first, qdq_second=second, bias=True))


@pytest.mark.parametrize("numerics", ["aiter-0.1.13", "aiter-0.1.16", "quark", "ocp"])
@pytest.mark.parametrize("qdq", ["mxfp4", "mxfp8"])
def test_every_profile(request_of, numerics, qdq):
    assert_same(request_of(7, numerics=numerics, qdq=qdq))


@pytest.mark.parametrize(
    "choice",
    [
        {"second_qdq_from": "fp32"},
        {"slot_rounding": "bf16"},
        {"slot_sum": "bf16"},
        {"block_amax_floor": 1e-10},
        {"mxfp4_scale_rule": "ceil"},
        {"mxfp4_scale_rule": "even_or_nan"},
    ],
    ids=str,
)
def test_every_choice_of_arithmetic(request_of, choice):
    assert_same(request_of(7, numerics=profile(None, **choice)))


@pytest.mark.parametrize("order", ["before_bias", "after_activation", "ignored"])
def test_routing_weight_in_stage_1(request_of, order):
    assert_same(request_of(7, numerics=profile(None, doweight_stage1=order), doweight_stage1=True, bias=True))


@pytest.mark.parametrize("hidden_dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("out_dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_every_dtype(request_of, hidden_dtype, out_dtype):
    assert_same(request_of(9, hidden_dtype=hidden_dtype, out_dtype=out_dtype))


@pytest.mark.parametrize("bias_dtype", [torch.bfloat16, torch.float16], ids=str)
def test_bias_in_16_bits(request_of, bias_dtype):
    request = request_of(5, bias=True)
    assert_same(dataclasses.replace(request, bias1=request.bias1.to(bias_dtype), bias2=request.bias2.to(bias_dtype)))


@pytest.mark.parametrize("tokens", [0, 1, 2, 3, 4, 5, 17, 64, 300])
def test_every_number_of_tokens(request_of, tokens):
    assert_same(request_of(tokens))


def test_a_long_batch(request_of):
    assert_same(request_of(4096, experts=4, choices=2, hidden=64, intermediate=32))


def test_a_batch_taken_in_pieces_has_the_same_bits(request_of, monkeypatch):
    request = request_of(40)
    whole = run_compiled(request)
    monkeypatch.setattr("aiter_compat.backends.emulation.compiled.layer_execution.tokens_at_once", lambda *_: 7)
    assert torch.equal(run_compiled(request), whole)


@pytest.mark.parametrize(("hidden", "intermediate"), [(32, 32), (1056, 64), (64, 2080)])
@pytest.mark.parametrize("qdq", ["mxfp4", "mxfp8"])
def test_sizes_that_fill_no_tile(request_of, hidden, intermediate, qdq):
    assert_same(request_of(4, experts=3, choices=2, hidden=hidden, intermediate=intermediate, qdq=qdq))


def test_interleaved_gate_rows(request_of):
    assert_same(request_of(5, gate_rows="interleaved", bias=True))


def test_experts_of_other_ranks(request_of):
    assert_same(request_of(9, experts=6, expert_mask=torch.tensor([1, 0, 1, 1, 0, 1])))


def test_no_expert_of_this_rank(request_of):
    result = run_compiled(request_of(5, expert_mask=torch.zeros(6, dtype=torch.int32)))
    assert torch.count_nonzero(result) == 0


def test_ids_that_name_no_expert(request_of):
    request = request_of(5)
    ids = request.topk_ids.clone()
    ids[0, 0], ids[1, 2] = -1, 99
    assert_same(dataclasses.replace(request, topk_ids=ids))


def test_rows_that_do_not_count(request_of):
    request = request_of(5, num_local_tokens=3)
    assert_same(request)
    assert torch.count_nonzero(run_compiled(request)[3:]) == 0


def test_hidden_states_that_are_a_view(request_of):
    request = request_of(5)
    wide = torch.cat([request.hidden_states, request.hidden_states], dim=1)
    assert_same(dataclasses.replace(request, hidden_states=wide[:, :96]))
    assert_same(dataclasses.replace(request, hidden_states=request.hidden_states.t().contiguous().t()))


@pytest.mark.parametrize("qdq", ["mxfp4", "mxfp8", "none"])
def test_nan_and_infinity_stay_where_they_belong(request_of, qdq):
    request = request_of(9, qdq=qdq)
    request.w1_scale[0, 3, 1] = 255
    request.w1_scale[1] = 0
    request.hidden_states[2, 5] = float("nan")
    request.hidden_states[4, 5] = float("inf")
    request.topk_weight[2, :] = 0
    assert_same(request)


def test_threads_change_no_bit(request_of, threads):
    request = request_of(33, qdq_second="mxfp8")
    results = []
    for count in (1, 2, 3, 2, 1):
        threads(count)
        results.append(run_compiled(request))
    assert all(torch.equal(result, results[0]) for result in results)


def test_tensors_that_require_gradients(request_of):
    request = request_of(4)
    plain = run_compiled(request)
    traced = dataclasses.replace(
        request,
        hidden_states=request.hidden_states.requires_grad_(),
        topk_weight=request.topk_weight.double().requires_grad_(),
    )
    result = run_compiled(traced)
    assert not result.requires_grad
    assert torch.equal(result, plain)
