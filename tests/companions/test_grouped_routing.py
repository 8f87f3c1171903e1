"""`grouped_topk` and `biased_grouped_topk` without AITER choose what AITER's kernels choose, in their order."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import aiter_compat as ac

CASES = range(6)
DEEPSEEK_V3 = {"experts": 256, "groups": 8, "chosen": 4, "k": 8}


def outputs(tokens, k):
    return torch.full((tokens, k), 9.0), torch.full((tokens, k), -9, dtype=torch.int32)


def assert_same_experts(weights, ids, expected_weights, expected_ids):
    """AITER's references do not sort: the sets are compared, and the weight of each expert."""
    order, expected_order = ids.long().sort(-1), expected_ids.long().sort(-1)
    assert torch.equal(order.values, expected_order.values)
    found = weights.gather(1, order.indices)
    torch.testing.assert_close(found, expected_weights.gather(1, expected_order.indices), rtol=1e-6, atol=1e-7)


def numbers_of(case):
    dtype = getattr(torch, str(case["dtype"]).removeprefix("torch."))
    gating = torch.from_numpy(case["x"]).to(dtype)
    return gating, int(case["groups"]), int(case["chosen"]), int(case["k"]), bool(case["renorm"])


@pytest.mark.parametrize("number", CASES)
def test_biased_routing_equals_aiters_reference(vectors, number):
    case = vectors("routing")[f"biased{number}"]
    gating, groups, chosen, k, renorm = numbers_of(case)
    weights, ids = outputs(len(gating), k)
    ac.biased_grouped_topk(
        gating, torch.from_numpy(case["bias"]).to(gating.dtype), weights, ids, groups, chosen, renorm
    )
    assert_same_experts(weights, ids, torch.from_numpy(case["weights"]), torch.from_numpy(case["ids"]))


@pytest.mark.parametrize("score", ["softmax", "sigmoid"])
@pytest.mark.parametrize("number", CASES)
def test_routing_equals_aiters_reference(vectors, number, score):
    case = vectors("routing")[f"grouped_{score}{number}"]
    gating, groups, chosen, k, renorm = numbers_of(case)
    weights, ids = outputs(len(gating), k)
    ac.grouped_topk(gating, weights, ids, groups, chosen, renorm, score == "softmax")
    assert_same_experts(weights, ids, torch.from_numpy(case["weights"]), torch.from_numpy(case["ids"]))


def plain_choice(biased, groups, chosen, k):
    """Ids of one token by the words of the documentation, in lists."""
    size = len(biased) // groups
    parts = [biased[group * size : (group + 1) * size] for group in range(groups)]
    sums = [sum(sorted(part, reverse=True)[:2]) for part in parts]
    kept = sorted(range(groups), key=lambda group: -sums[group])[:chosen]
    if (len(biased), groups, chosen, k) != tuple(DEEPSEEK_V3.values()):
        candidates = [expert for group in sorted(kept) for expert in range(group * size, (group + 1) * size)]
        return sorted(candidates, key=lambda expert: -biased[expert])[:k]
    fourth = sorted(sums, reverse=True)[chosen - 1]
    above, at = ([g for g in range(groups) if test(sums[g])] for test in (fourth.__lt__, fourth.__eq__))
    places = [group * size + place for group in (above + at)[:chosen] for place in range(size)]
    eighth = sorted((biased[expert] for expert in places), reverse=True)[k - 1]
    above, at = ([e for e in places if test(biased[e])] for test in (eighth.__lt__, eighth.__eq__))
    return (above + at)[:k]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_ties_and_order_are_as_documented(data):
    deepseek = data.draw(st.booleans())
    groups = 8 if deepseek else data.draw(st.sampled_from([1, 2, 4, 8]))
    size = 32 if deepseek else data.draw(st.integers(2, 5))
    chosen = 4 if deepseek else data.draw(st.integers(1, groups))
    k = 8 if deepseek else data.draw(st.integers(1, chosen * size))
    seed = data.draw(st.integers(0, 2**20))
    generator = torch.Generator().manual_seed(seed)
    levels = data.draw(st.sampled_from([2, 5, 1000]))  # few levels make ties
    bias = torch.randint(levels, (groups * size,), generator=generator).float() / 4
    gating = torch.zeros(2, groups * size)  # every sigmoid is 0.5
    weights, ids = outputs(2, k)
    ac.biased_grouped_topk(gating, bias, weights, ids, groups, chosen, False, 3.0)
    expected = plain_choice((bias + 0.5).tolist(), groups, chosen, k)
    assert ids.tolist() == [expected, expected]
    assert torch.equal(weights, torch.full((2, k), 1.5))


def test_the_deepseek_kernel_writes_experts_by_place_with_the_least_last():
    bias = torch.zeros(256)
    winners = torch.tensor([3, 40, 41, 70, 100, 101, 102, 103])  # groups 0, 1, 2, 3
    bias[winners] = torch.tensor([0.3, 0.9, 0.5, 0.8, 0.35, 0.6, 0.7, 0.4])
    bias[64] = 0.1  # group 2 beats the rest
    weights, ids = outputs(1, 8)
    ac.biased_grouped_topk(torch.zeros(1, 256), bias, weights, ids, 8, 4, True)
    # group 0 has the fourth score, so it comes last, and its expert 3 has the eighth
    assert ids.tolist() == [[40, 41, 70, 100, 101, 102, 103, 3]]


def test_a_negative_bias_does_not_let_an_expert_of_another_group_in():
    bias = torch.tensor([-1.0, -0.9, -2.0, -3.0])
    weights, ids = outputs(1, 2)
    ac.biased_grouped_topk(torch.zeros(1, 4), bias, weights, ids, 2, 1, True)
    assert ids.tolist() == [[1, 0]]


def test_weights_are_scaled_after_renormalising():
    gating = torch.randn(3, 16)
    weights, ids = outputs(3, 4)
    ac.grouped_topk(gating, weights, ids, 4, 2, True, False, 2.5)
    torch.testing.assert_close(weights.sum(-1), torch.full((3,), 2.5))
    unscaled, _ = outputs(3, 4)
    ac.grouped_topk(gating, unscaled, ids, 4, 2, False, False, 2.5)
    torch.testing.assert_close(unscaled, 2.5 * gating.sigmoid().gather(1, ids.long()))


def test_views_into_wider_buffers_are_written_alone():
    buffer, id_buffer = torch.zeros(2, 6), torch.zeros(2, 6, dtype=torch.int32)
    ac.grouped_topk(torch.randn(2, 8), buffer[:, :4], id_buffer[:, :4], 2, 1, True)
    assert buffer[:, :4].sum() > 1.9
    assert not buffer[:, 4:].any()
    assert not id_buffer[:, 4:].any()


def test_no_tokens_are_no_matter():
    weights, ids = outputs(0, 2)
    ac.grouped_topk(torch.randn(0, 8), weights, ids, 2, 1, True)
    ac.biased_grouped_topk(torch.randn(0, 8), torch.zeros(8), weights, ids, 2, 1, True)


@pytest.mark.parametrize("holds", [float("nan"), float("inf"), -float("inf")])
def test_ids_stay_in_range_whatever_the_logits_hold(holds):
    gating = torch.randn(3, 16)
    gating[:, ::3] = holds
    weights, ids = outputs(3, 8)
    ac.biased_grouped_topk(gating, torch.zeros(16), weights, ids, 4, 2, True)
    assert all(len(set(row)) == 8 for row in ids.tolist())
    assert ((ids >= 0) & (ids < 16)).all()


@pytest.mark.parametrize(
    ("groups", "chosen", "k", "argument"),
    [(3, 1, 2, "num_expert_group"), (8, 9, 2, "topk_group"), (4, 0, 2, "topk_group"), (4, 1, 5, "topk_ids")],
)
def test_groups_without_a_kernel_are_refused(groups, chosen, k, argument):
    weights, ids = outputs(2, k)
    with pytest.raises(ac.InvalidArgument) as raised:
        ac.grouped_topk(torch.randn(2, 16), weights, ids, groups, chosen, True)
    assert raised.value.argument == argument


def test_a_bias_that_the_kernel_would_read_as_another_dtype_is_refused():
    weights, ids = outputs(2, 2)
    with pytest.raises(ac.InvalidArgument, match=r"correction_bias.*torch.bfloat16 \[8\]"):
        ac.biased_grouped_topk(torch.randn(2, 8).bfloat16(), torch.zeros(8), weights, ids, 2, 1, True)
