"""`fused_topk`, `topk_softmax`, `topk_sigmoid` and `topk_gating` without AITER give a host what AITER's would."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import aiter_compat as ac

FINITE = st.floats(-30, 30, width=32)
ANY = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-40, 3e38, -3e38, math.inf, -math.inf, math.nan])


@st.composite
def logits(draw, values):
    tokens, experts = draw(st.integers(0, 4)), draw(st.integers(1, 12))
    rows = draw(st.lists(st.lists(values, min_size=experts, max_size=experts), min_size=tokens, max_size=tokens))
    return torch.tensor(rows, dtype=torch.float32).view(tokens, experts), draw(st.integers(1, experts))


def first_best(row, k):
    """The k largest of a list, by a plain sort that keeps equal ones in their order."""
    return sorted(range(len(row)), key=lambda expert: -row[expert])[:k]


@settings(deadline=None)
@given(logits(st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0])), st.booleans())
def test_the_first_of_equal_logits_wins_and_the_order_descends(drawn, renormalize):
    gating, k = drawn
    weights, ids = ac.fused_topk(torch.empty(len(gating), 4), gating, k, renormalize)
    assert (weights.dtype, ids.dtype) == (torch.float32, torch.int32)
    assert weights.shape == ids.shape == (len(gating), k)
    assert ids.tolist() == [first_best(row, k) for row in gating.tolist()]


@settings(deadline=None)
@given(logits(FINITE), st.booleans())
def test_weights_are_the_softmax_over_all_experts(drawn, renormalize):
    gating, k = drawn
    weights, ids = ac.fused_topk(torch.empty(len(gating), 4), gating, k, renormalize)
    exact = gating.double().softmax(-1).gather(1, ids.long())
    if renormalize:
        exact = exact / exact.sum(-1, keepdim=True)
    torch.testing.assert_close(weights.double(), exact, rtol=2e-6, atol=1e-12)


@settings(deadline=None)
@given(logits(ANY), st.sampled_from(["softmax", "sigmoid", "sqrtsoftplus"]))
def test_ids_are_distinct_and_in_range_whatever_the_logits_hold(drawn, score):
    gating, k = drawn
    tokens, experts = gating.shape
    weights, ids = torch.empty(tokens, k), torch.empty(tokens, k, dtype=torch.int32)
    ac.topk_gating(weights, ids, gating, score_func=score)
    _, fused = ac.fused_topk(gating, gating, k, True)
    for chosen in (*ids.tolist(), *fused.tolist()):
        assert len(set(chosen)) == k
        assert all(0 <= expert < experts for expert in chosen)


def test_a_nan_logit_is_never_preferred_and_shows_in_the_weights_of_a_softmax():
    gating = torch.tensor([[1.0, math.nan, 3.0, 2.0]])
    weights, ids = ac.fused_topk(gating, gating, 2, True)
    assert ids.tolist() == [[2, 3]]
    assert weights.isnan().all()


def test_given_tensors_are_written_and_returned():
    gating = torch.randn(3, 8)
    buffer, ids = torch.zeros(3, 6), torch.zeros(3, 2, dtype=torch.int32)
    weights = buffer[:, 2:4]  # a host's view into a wider buffer
    got = ac.fused_topk(gating, gating, 2, True, topk_ids=ids, topk_weights=weights)
    assert got[0] is weights
    assert got[1] is ids
    assert torch.equal(buffer[:, :2], torch.zeros(3, 2))
    assert torch.equal(buffer[:, 4:], torch.zeros(3, 2))
    fresh = ac.fused_topk(gating, gating, 2, True)
    assert torch.equal(weights, fresh[0])
    assert torch.equal(ids, fresh[1])


def test_tensors_with_spare_rows_as_for_the_assembly_kernel_are_cut():
    gating = torch.randn(5, 8)
    spare = torch.full((8, 2), 7.0)
    weights, ids = ac.fused_topk(gating, gating, 2, True, torch.empty(8, 2, dtype=torch.int32), spare)
    assert weights.shape == ids.shape == (5, 2)
    assert torch.equal(weights, spare[:5])
    assert torch.equal(spare[5:], torch.full((3, 2), 7.0))


def test_topk_softmax_writes_all_three_tensors():
    gating = torch.randn(4, 16).bfloat16()
    weights, ids, rows = torch.empty(4, 3), torch.empty(4, 3, dtype=torch.int32), torch.empty(4, 3, dtype=torch.int32)
    assert ac.topk_softmax(weights, ids, rows, gating, True) is None
    expected = ac.fused_topk(gating, gating, 3, True)
    assert torch.equal(weights, expected[0])
    assert torch.equal(ids, expected[1])
    assert rows.tolist() == [[token, 4 + token, 8 + token] for token in range(4)]


@pytest.mark.parametrize("router", ["topk_softmax", "topk_gating"])
def test_fused_shared_experts_get_the_sigmoid_of_their_own_logits(router):
    gating = torch.randn(4, 10)
    weights, ids = torch.empty(4, 5), torch.empty(4, 3, dtype=torch.int32)
    if router == "topk_softmax":
        rows = torch.empty(4, 3, dtype=torch.int32)
        ac.topk_softmax(weights, ids, rows, gating, True, 2, "sigmoid")
    else:
        ac.topk_gating(weights, ids, gating, score_func="softmax", num_shared_experts=2)
    routed = ac.fused_topk(gating, gating[:, :8], 3, True)
    torch.testing.assert_close(weights[:, :3], routed[0])
    assert torch.equal(ids, routed[1])
    assert torch.equal(weights[:, 3:], gating[:, 8:].sigmoid())


def test_topk_sigmoid_chooses_by_logit_and_does_not_renormalise():
    gating = torch.tensor([[40.0, 50.0, -1.0, 0.0]])  # both sigmoids are 1 in fp32
    weights, ids = torch.empty(1, 3), torch.empty(1, 3, dtype=torch.int32)
    ac.topk_sigmoid(weights, ids, gating)
    assert ids.tolist() == [[1, 0, 3]]
    assert weights.tolist() == [[1.0, 1.0, 0.5]]


@pytest.mark.parametrize("score", ["sigmoid", "softmax", "sqrtsoftplus"])
def test_a_bias_changes_the_choice_and_never_the_weight(score):
    gating = torch.zeros(1, 4)
    bias = torch.tensor([0.0, 0.0, 5.0, 1.0])
    weights, ids = torch.empty(1, 2), torch.empty(1, 2, dtype=torch.int32)
    ac.topk_gating(weights, ids, gating, bias, False, 2.0, score)
    plain = {"sigmoid": 0.5, "softmax": 0.25, "sqrtsoftplus": math.sqrt(math.log(2))}[score]
    assert ids.tolist() == [[2, 3]]
    assert weights.tolist()[0] == pytest.approx([2 * plain, 2 * plain])


@pytest.mark.parametrize("score", ["sigmoid", "softmax", "sqrtsoftplus"])
def test_an_infinite_logit_wins_with_a_finite_weight(score):
    gating = torch.tensor([[0.0, math.inf, 1.0]])
    weights, ids = torch.empty(1, 2), torch.empty(1, 2, dtype=torch.int32)
    ac.topk_gating(weights, ids, gating, score_func=score)
    assert ids[0, 0] == 1
    assert weights.isfinite().all()
    assert weights[0, 0] > 0.5


def test_topk_softplus_is_the_older_name():
    assert ac.topk_softplus is ac.topk_gating


@pytest.mark.parametrize("score", ["sigmoid", "sqrtsoftplus", "softmax"])
def test_gating_equals_aiters_reference(vectors, score):
    case = vectors("routing")[f"gate_{score}"]
    expected_ids = torch.from_numpy(case["ids"]).long()
    bias = torch.from_numpy(case["bias"]) if "bias" in case else None
    weights, ids = torch.empty(11, 6), torch.empty(11, 6, dtype=torch.int32)
    scale = {"sigmoid": 1.0, "sqrtsoftplus": 2.5, "softmax": 1.5}[score]
    ac.topk_gating(weights, ids, torch.from_numpy(case["x"]), bias, score != "sigmoid", scale, score)
    # AITER's references do not sort; sets are compared, and the weight of each expert
    order, expected_order = ids.long().sort(-1), expected_ids.sort(-1)
    assert torch.equal(order.values, expected_order.values)
    expected = torch.from_numpy(case["weights"]).gather(1, expected_order.indices)
    torch.testing.assert_close(weights.gather(1, order.indices), expected, rtol=1e-6, atol=1e-7)


def test_it_traces_into_one_graph():
    def route(gating):
        return ac.fused_topk(gating, gating, 2, True)

    gating = torch.randn(3, 8)
    compiled = torch.compile(route, backend="eager", fullgraph=True)
    assert all(torch.equal(one, other) for one, other in zip(compiled(gating), route(gating), strict=True))


def _topk_softmax(**changed):
    arguments = {
        "topk_weights": torch.empty(2, 2),
        "topk_indices": torch.empty(2, 2, dtype=torch.int32),
        "token_expert_indices": torch.empty(2, 2, dtype=torch.int32),
        "gating_output": torch.randn(2, 4),
        "need_renorm": True,
    }
    ac.topk_softmax(**{**arguments, **changed})


@pytest.mark.parametrize(
    ("changed", "argument", "allowed"),
    [
        ({"gating_output": torch.randn(4)}, "gating_output", "2 dimensions"),
        ({"gating_output": torch.zeros(2, 4, dtype=torch.int32)}, "gating_output", "torch.float32"),
        ({"topk_weights": torch.empty(2, 2).half()}, "topk_weights", "torch.float32"),
        ({"topk_weights": torch.empty(3, 2)}, "topk_weights", r"\[2, 2\]"),
        ({"topk_indices": torch.empty(2, 5, dtype=torch.int32)}, "topk_indices", "1 to 4"),
        ({"topk_indices": torch.empty(2, 2, dtype=torch.int64)}, "topk_indices", "torch.int32"),
        ({"num_shared_experts": 1}, "shared_expert_scoring_func", "sigmoid"),
        ({"num_shared_experts": 9}, "num_shared_experts", "0 to 3"),
        ({"backend": "hip"}, "backend", "auto, aiter, emulation"),
    ],
)
def test_what_does_not_fit_is_named(changed, argument, allowed):
    with pytest.raises(ac.InvalidArgument, match=allowed) as raised:
        _topk_softmax(**changed)
    assert raised.value.argument == argument


def test_a_bias_of_another_dtype_is_refused_as_aiter_does():
    with pytest.raises(ac.InvalidArgument, match=r"correction_bias.*torch.float32 \[4\] for logits of torch.float16"):
        ac.topk_gating(
            torch.empty(1, 2),
            torch.empty(1, 2, dtype=torch.int32),
            torch.zeros(1, 4, dtype=torch.float16),
            torch.zeros(4, dtype=torch.bfloat16),
        )


def test_k_beyond_the_experts_is_refused():
    with pytest.raises(ac.InvalidArgument, match="topk: got 9; allowed: 1 to 8"):
        ac.fused_topk(torch.empty(1, 4), torch.randn(1, 8), 9, True)
