"""Which slots count: expert masks, foreign ids, zero weights, uncounted rows, and the shared expert."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from aiter_compat.backends.emulation import run, run_reference
from aiter_compat.backends.emulation.routing import Slots, local_experts, sort_slots
from aiter_compat.errors import InvalidArgument
from aiter_compat.formats import quantize


def test_a_mask_numbers_the_marked_experts_in_order():
    mask = torch.tensor([0, 1, 1, 0, 1])
    ids = torch.tensor([[0, 1], [2, 3], [4, -1]], dtype=torch.int32)
    assert local_experts(ids, mask, 3).tolist() == [[-1, 0], [1, -1], [2, -1]]


def test_ids_outside_the_experts_belong_to_nobody():
    assert local_experts(torch.tensor([[-1, 0, 3, 4]]), None, 4).tolist() == [[-1, 0, 3, -1]]
    assert local_experts(torch.tensor([[5, 0]]), torch.tensor([1, 1]), 2).tolist() == [[-1, 0]]


def test_an_expert_map_in_place_of_a_mask_is_refused():
    with pytest.raises(InvalidArgument, match="expert_map"):
        local_experts(torch.tensor([[0]]), torch.tensor([-1, -1, 0, 1]), 2)


def test_slots_are_sorted_by_expert_and_those_without_one_left_out():
    experts = torch.tensor([[2, -1], [0, 2], [-1, 0]])
    groups = sort_slots(Slots(experts, torch.ones(3, 2)))
    assert {expert: groups.order[span].tolist() for expert, span in groups.spans()} == {0: [2, 5], 2: [0, 3]}


@pytest.mark.parametrize("compute", [run, run_reference])
def test_without_tokens_the_result_is_empty(make_layer, compute):
    request = make_layer(tokens=2).request
    empty = replace(
        request,
        hidden_states=request.hidden_states[:0],
        topk_ids=request.topk_ids[:0],
        topk_weight=request.topk_weight[:0],
        out_dtype=torch.bfloat16,
    )
    result = compute(empty)
    assert result.shape == (0, 64)
    assert result.dtype == torch.bfloat16


@pytest.mark.parametrize("compute", [run, run_reference])
def test_a_token_without_an_expert_here_is_zero(make_layer, compute):
    request = make_layer(tokens=3).request
    ids = request.topk_ids.clone()
    ids[1] = -1
    result = compute(replace(request, topk_ids=ids))
    whole = compute(request)
    assert torch.equal(result[1], torch.zeros(64))
    assert torch.equal(result[[0, 2]], whole[[0, 2]])


@pytest.mark.parametrize("compute", [run, run_reference])
@pytest.mark.parametrize("count", [torch.tensor([2], dtype=torch.int32), 2, 0])
def test_rows_from_num_local_tokens_on_are_zero_and_not_read(make_layer, compute, count):
    request = make_layer(tokens=4, qdq_first="fp8_tensor", qdq_second="fp8_tensor").request
    hidden = request.hidden_states.clone()
    hidden[2:] = torch.nan  # would also spoil the scale of the whole tensor if it were read
    counted = int(count)
    result = compute(replace(request, hidden_states=hidden, num_local_tokens=count))
    alone = compute(
        replace(
            request,
            hidden_states=hidden[:counted],
            topk_ids=request.topk_ids[:counted],
            topk_weight=request.topk_weight[:counted],
        )
    )
    assert torch.equal(result[:counted], alone)
    assert torch.equal(result[counted:], torch.zeros(4 - counted, 64))


def test_num_local_tokens_beyond_the_rows_is_refused(make_layer):
    with pytest.raises(InvalidArgument, match="num_local_tokens"):
        run(replace(make_layer(tokens=4).request, num_local_tokens=5))


@pytest.mark.parametrize("compute", [run, run_reference])
@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_a_slot_of_weight_zero_contributes_nothing_even_for_a_token_that_is_not_finite(make_layer, compute, bad):
    request = make_layer(tokens=2).request
    hidden, weights = request.hidden_states.clone(), request.topk_weight.clone()
    hidden[0, 3] = bad
    weights[0] = 0.0
    spoiled = replace(request, hidden_states=hidden, topk_weight=weights)
    assert torch.equal(compute(spoiled)[0], torch.zeros(64))
    assert compute(replace(spoiled, zero_weight_rule=False))[0].isnan().all()


@pytest.mark.parametrize("compute", [run, run_reference])
def test_a_shared_expert_is_added_to_every_token_with_weight_one(make_layer, compute, relative_error):
    request, other = make_layer(tokens=6, bias=False).request, make_layer(seed=9, experts=1, top_k=1).request
    shared = {
        "shared_w1": other.w1,
        "shared_w2": other.w2,
        "shared_w1_scale": other.w1_scale,
        "shared_w2_scale": other.w2_scale,
    }
    alone = replace(
        request,
        w1=other.w1,
        w2=other.w2,
        w1_scale=other.w1_scale,
        w2_scale=other.w2_scale,
        topk_ids=torch.zeros(6, 1, dtype=torch.int32),
        topk_weight=torch.ones(6, 1),
    )
    expected = compute(request) + compute(alone)
    assert relative_error(compute(replace(request, **shared)), expected) < 1e-6


@pytest.mark.parametrize("compute", [run, run_reference])
def test_a_shared_expert_with_an_id_serves_the_slots_that_name_it(make_layer, compute):
    """AITER's FHMoE: the row of that expert in w1 and w2 is a placeholder, its format another one."""
    request = make_layer(tokens=6, bias=False).request
    generator = torch.Generator().manual_seed(3)
    w1 = quantize(torch.randn(1, 192, 64, generator=generator) / 8, "mxfp8")
    w2 = quantize(torch.randn(1, 64, 96, generator=generator) / 8, "mxfp8")
    shared = replace(
        request,
        shared_w1=w1.codes,
        shared_w2=w2.codes,
        shared_w1_scale=w1.scales,
        shared_w2_scale=w2.scales,
        shared_weight_format="mxfp8",
        shared_expert_id=3,
    )
    spoiled = request.w1.clone()
    spoiled[3] = 0x77
    assert torch.equal(compute(shared), compute(replace(shared, w1=spoiled)))
    routed_elsewhere = (request.topk_ids != 3).all(dim=1)
    assert 0 < int(routed_elsewhere.sum()) < 6
    assert torch.equal(compute(shared)[routed_elsewhere], compute(request)[routed_elsewhere])
    assert not torch.equal(compute(shared)[~routed_elsewhere], compute(request)[~routed_elsewhere])
