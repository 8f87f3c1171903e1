"""What must hold for any MoE: order of tokens and experts, sharding, padding; and that every option has its effect.

Results are compared with a dense fp64 implementation that shares no code with the package.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from aiter_compat.backends.emulation import ActivationSpec, run, run_reference
from aiter_compat.profiles import profile

ACTIVATIONS = {
    "swiglu": ActivationSpec("swiglu", limit=7.0),
    "silu": ActivationSpec("silu"),
    "silu with limit": ActivationSpec("silu", limit=1.0),
    "gelu": ActivationSpec("gelu"),
    "relu2, not gated": ActivationSpec("relu2", gated=False),
    "silu, not gated": ActivationSpec("silu", gated=False),
}


@pytest.mark.parametrize("doweight_stage1", [False, True])
@pytest.mark.parametrize("qdq", ["none", "mxfp4", "mxfp8"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_agrees_with_a_dense_fp64_implementation(make_layer, oracle, relative_error, activation, qdq, doweight_stage1):
    layer = make_layer(
        seed=11,
        activation=ACTIVATIONS[activation],
        qdq_first=qdq,
        qdq_second=qdq,
        doweight_stage1=doweight_stage1,
    )
    expected = oracle.dense_moe(**layer.oracle_inputs())
    assert relative_error(run(layer.request), expected) < 1e-5
    assert relative_error(run_reference(layer.request), expected) < 1e-5


def test_the_order_of_tokens_does_not_matter(make_layer):
    request = make_layer(tokens=9).request
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    permuted = replace(
        request,
        hidden_states=request.hidden_states[order],
        topk_ids=request.topk_ids[order],
        topk_weight=request.topk_weight[order],
    )
    torch.testing.assert_close(run(permuted), run(request)[order], rtol=1e-5, atol=1e-5)


def test_the_numbering_of_experts_does_not_matter(make_layer):
    request = make_layer(tokens=9).request
    order = torch.tensor([2, 0, 3, 1])
    renumbered = replace(
        request,
        w1=request.w1[order],
        w2=request.w2[order],
        w1_scale=request.w1_scale[order],
        w2_scale=request.w2_scale[order],
        bias1=request.bias1[order],
        bias2=request.bias2[order],
        topk_ids=order.argsort().int()[request.topk_ids.long()],
    )
    torch.testing.assert_close(run(renumbered), run(request), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("compute", [run, run_reference])
def test_ranks_that_share_the_experts_add_up_to_all_of_them(make_layer, relative_error, compute):
    request = make_layer(tokens=9, experts=6, top_k=3).request
    mask = torch.tensor([1, 0, 0, 1, 1, 0], dtype=torch.int32)
    total = torch.zeros(9, 64)
    for own in (mask, 1 - mask):
        here = own.bool()
        total += compute(
            replace(
                request,
                expert_mask=own,
                w1=request.w1[here],
                w2=request.w2[here],
                w1_scale=request.w1_scale[here],
                w2_scale=request.w2_scale[here],
                bias1=request.bias1[here],
                bias2=request.bias2[here],
            )
        )
    assert relative_error(total, compute(request)) < 1e-6


def test_ranks_that_share_the_intermediate_size_add_up_to_all_of_it(make_layer, relative_error):
    request = make_layer(tokens=9, intermediate=128, qdq_second="none").request
    total = torch.zeros(9, 64)
    for rank in range(2):
        own = slice(64 * rank, 64 * (rank + 1))
        rows = torch.cat([torch.arange(128)[own], 128 + torch.arange(128)[own]])
        total += run(
            replace(
                request,
                w1=request.w1[:, rows],
                w1_scale=request.w1_scale[:, rows],
                bias1=request.bias1[:, rows],
                w2=request.w2[:, :, 32 * rank : 32 * (rank + 1)],
                w2_scale=request.w2_scale[:, :, 2 * rank : 2 * (rank + 1)],
                bias2=request.bias2 if rank == 0 else None,
            )
        )
    assert relative_error(total, run(request)) < 1e-6


@pytest.mark.parametrize("qdq", ["none", "mxfp4", "mxfp8"])
@pytest.mark.parametrize(("hidden_pad", "intermediate_pad"), [(32, 0), (0, 64), (64, 32)])
def test_zero_filled_pads_change_nothing(make_layer, relative_error, hidden_pad, intermediate_pad, qdq):
    plain = make_layer(qdq_first=qdq, qdq_second=qdq).request

    def padded(values: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
        return torch.nn.functional.pad(values, (0, columns, 0, rows))

    def padded_halves(values: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
        return torch.cat([padded(half, rows, columns) for half in values.chunk(2, dim=1)], dim=1)

    request = replace(
        plain,
        hidden_states=padded(plain.hidden_states, 0, hidden_pad),
        w1=padded_halves(plain.w1, intermediate_pad, hidden_pad // 2),
        w1_scale=padded_halves(plain.w1_scale, intermediate_pad, hidden_pad // 32),
        w2=padded(plain.w2, hidden_pad, intermediate_pad // 2),
        w2_scale=padded(plain.w2_scale, hidden_pad, intermediate_pad // 32),
        bias1=padded_halves(plain.bias1.unsqueeze(2), intermediate_pad, 0).squeeze(2),
        bias2=padded(plain.bias2, 0, hidden_pad),
    )
    result = run(request)
    assert relative_error(result[:, :64], run(plain)) < 1e-6
    assert torch.equal(result[:, 64:], torch.zeros(5, hidden_pad))


@pytest.mark.parametrize(
    "change",
    [
        {"qdq_first": "none"},
        {"qdq_second": "none"},
        {"qdq_first": "mxfp8"},
        {"qdq_second": "mxfp8"},
        {"bias1": None},
        {"bias2": None},
        {"doweight_stage1": True},
        {"gate_rows": "interleaved"},
        {"activation": ActivationSpec("swiglu", limit=0.5)},
        {"activation": ActivationSpec("swiglu", limit=7.0, alpha=1.0)},
        {"activation": ActivationSpec("swiglu", limit=7.0, beta=0.0)},
        {"profile": profile(second_qdq_from="fp32")},
        {"profile": profile("ocp")},
        {"profile": profile(slot_rounding="bf16")},
        {"profile": profile(slot_sum="bf16")},
        {"expert_mask": torch.tensor([1, 1, 1, 0])},
    ],
    ids=str,
)
@pytest.mark.parametrize("compute", [run, run_reference])
def test_nothing_that_is_asked_for_is_ignored(make_layer, compute, change):
    """Each step that a request describes shows in the result, so losing it would not go unnoticed."""
    request = make_layer(seed=5, tokens=32).request
    assert not torch.equal(compute(replace(request, **change)), compute(request))


@pytest.mark.parametrize("order", ["before_bias", "after_activation", "ignored"])
@pytest.mark.parametrize("compute", [run, run_reference])
def test_where_stage_1_applies_the_routing_weight(make_layer, oracle, relative_error, compute, order):
    layer = make_layer(seed=3, qdq_first="none", qdq_second="none", doweight_stage1=True)
    request = replace(layer.request, profile=profile(doweight_stage1=order))
    inputs = layer.oracle_inputs()
    if order == "before_bias":
        expected = oracle.dense_moe(**inputs)
    else:
        # Unweighted stage 1; a weight after the activation commutes with the second GEMM, but not with its bias.
        unweighted = inputs | {"doweight_stage1": False, "weights": np.ones_like(inputs["weights"])}
        expected = oracle.dense_moe(**unweighted)
        if order == "after_activation":
            weighted = inputs | {"doweight_stage1": False, "bias2": None}
            biases = request.bias2[request.topk_ids.long()].sum(dim=1).double().numpy()
            expected = oracle.dense_moe(**weighted) + biases
    # bf16 roundings fall elsewhere when the weight is applied after them.
    assert relative_error(compute(request), expected) < (3e-3 if order == "after_activation" else 1e-5)


@pytest.mark.parametrize("compute", [run, run_reference])
def test_slot_roundings_follow_the_profile(make_layer, compute):
    request = make_layer(seed=8, tokens=16, top_k=3).request
    slots = []
    for choice in range(3):
        one = slice(choice, choice + 1)
        slots.append(
            compute(replace(request, topk_ids=request.topk_ids[:, one], topk_weight=request.topk_weight[:, one]))
        )
    rounded = [slot.bfloat16().float() for slot in slots]
    each = replace(request, profile=profile(slot_rounding="bf16"))
    torch.testing.assert_close(compute(each), sum(rounded), rtol=1e-6, atol=1e-6)
    added = torch.zeros(16, 64)
    for slot in rounded:
        added = (added + slot).bfloat16().float()
    both = replace(request, profile=profile(slot_rounding="bf16", slot_sum="bf16"))
    assert torch.equal(compute(both), added)


def test_interleaved_rows_are_the_same_layer(make_layer):
    request = make_layer(tokens=7).request
    alternating = torch.arange(192).view(2, 96).t().reshape(-1)
    interleaved = replace(
        request,
        w1=request.w1[:, alternating],
        w1_scale=request.w1_scale[:, alternating],
        bias1=request.bias1[:, alternating],
        gate_rows="interleaved",
    )
    torch.testing.assert_close(run(interleaved), run(request), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_16_bit_result_is_the_fp32_one_rounded_once(make_layer, dtype):
    request = make_layer().request
    request = replace(request, hidden_states=request.hidden_states.to(dtype))
    assert torch.equal(run(replace(request, out_dtype=dtype)), run(request).to(dtype))
