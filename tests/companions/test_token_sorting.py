"""`moe_sorting` without AITER gives its kernels' five buffers: order, padding, tiles and counts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import aiter_compat as ac


def plain_sorting(ids, weights, experts, block, mask, counted):
    """The buffers in use, by the words of the documentation, in lists."""
    k, tokens = len(ids[0]) if ids else 1, len(ids) if counted is None else counted
    padding = (k << 24) | tokens
    sorted_ids, sorted_weights, tiles, local = [], [], [], -1
    for expert in range(experts):
        if mask is not None and not mask[expert]:
            continue
        local += 1
        here = [(token, ids[token].index(expert)) for token in range(tokens) if expert in ids[token]]
        filled = -(-len(here) // block) * block
        sorted_ids += [(slot << 24) | token for token, slot in here] + [padding] * (filled - len(here))
        sorted_weights += [weights[token][slot] for token, slot in here] + [0.0] * (filled - len(here))
        tiles += [local] * (filled // block)
    return sorted_ids, sorted_weights, tiles, padding, tokens


@st.composite
def routings(draw):
    experts, tokens = draw(st.integers(1, 9)), draw(st.integers(0, 7))
    k = draw(st.integers(1, experts))
    ids = [draw(st.permutations(range(experts)))[:k] for _ in range(tokens)]
    mask = draw(st.none() | st.lists(st.integers(0, 1), min_size=experts, max_size=experts))
    counted = draw(st.none() | st.integers(0, tokens))
    return experts, k, ids, mask, counted


@settings(deadline=None)
@given(routings(), st.integers(1, 5), st.sampled_from([torch.int32, torch.int64]))
def test_every_buffer_is_as_documented(routing, block, dtype):
    experts, k, ids, mask, counted = routing
    tokens = len(ids)
    weights = torch.rand(tokens, k)
    topk_ids = torch.tensor(ids, dtype=dtype).view(tokens, k)
    local = None if counted is None else torch.tensor([counted])
    got = ac.moe_sorting(
        topk_ids,
        weights,
        experts,
        6,
        torch.bfloat16,
        block,
        None if mask is None else torch.tensor(mask, dtype=torch.int32),
        local,
        return_local_topk_ids=True,
    )
    capacity = tokens * k + experts * block - k
    assert [tuple(tensor.shape) for tensor in got] == [
        (capacity,), (capacity,), (-(-capacity // block),), (2,), (tokens, 6), (tokens, k),
    ]  # fmt: skip
    assert [tensor.dtype for tensor in got] == [
        torch.int32, torch.float32, torch.int32, torch.int32, torch.bfloat16, torch.int32,
    ]  # fmt: skip
    expected_ids, expected_weights, tiles, padding, real = plain_sorting(
        ids, weights.tolist(), experts, block, mask, counted
    )
    used = len(expected_ids)
    padding = (k << 24) | real
    assert got[3].tolist() == [used, real]
    assert got[0].tolist() == expected_ids + [padding] * (capacity - used)
    assert got[1].tolist() == expected_weights + [0.0] * (capacity - used)
    assert got[2].tolist() == tiles + [-1] * (len(got[2]) - len(tiles))
    assert not got[4].any()
    here = mask or [1] * experts
    locals_ = [sum(here[:expert]) if here[expert] else -1 for expert in range(experts)]
    assert got[5].tolist() == [
        [locals_[expert] if token < real else -1 for expert in row] for token, row in enumerate(ids)
    ]


@pytest.mark.parametrize("number", range(6))
def test_it_equals_aiters_reference(vectors, number):
    case = {name: torch.from_numpy(array) for name, array in vectors("routing")[f"sorting{number}"].items()}
    counted = case["local"].view(1) if case["local"] else None
    tokens, k = case["ids"].shape
    sorted_ids, sorted_weights, expert_ids, valid, _ = ac.moe_sorting(
        case["ids"],
        case["weights"],
        int(case["experts"]),
        4,
        torch.float16,
        int(case["block"]),
        case["mask"] if case["mask"].numel() else None,
        counted,
    )
    # The reference pads with all M tokens, the kernel (csrc/include/moe_sorting_opus.h) with those that count.
    counted_padding = (k << 24) | (tokens if counted is None else int(counted))
    sorted_ids = torch.where(sorted_ids == counted_padding, (k << 24) | tokens, sorted_ids)
    assert torch.equal(sorted_ids, case["sorted_ids"])
    assert torch.equal(sorted_weights, case["sorted_weights"])
    assert torch.equal(expert_ids, case["expert_ids"])
    assert torch.equal(valid, case["valid"])


def test_the_output_buffer_is_left_out_only_without_accumulation_and_mask():
    ids, weights = torch.tensor([[0, 1]]), torch.ones(1, 2)
    mask = torch.tensor([1, 0, 1])
    assert ac.moe_sorting(ids, weights, 3, 8, torch.float16, accumulate=False)[4].shape == (0, 0)
    assert ac.moe_sorting(ids, weights, 3, 8, torch.float16, expert_mask=mask, accumulate=False)[4].shape == (1, 8)
    assert len(ac.moe_sorting(ids, weights, 3, 8, torch.float16)) == 5


def test_flat_kernels_get_ids_and_weights_themselves():
    ids, weights = torch.tensor([[0, 1], [2, 0]]), torch.rand(2, 2).double().float()
    got = ac.moe_sorting(ids, weights, 3, 8, torch.bfloat16, flat=True)
    assert got[0].dtype == torch.int32
    assert torch.equal(got[0], ids.int())
    assert torch.equal(got[1], weights)
    assert got[2] is got[3] is got[0]
    assert got[4].shape == (2, 8)


def test_an_id_that_names_no_expert_takes_no_row():
    ids, weights = torch.tensor([[0, -1], [7, 1]], dtype=torch.int32), torch.ones(2, 2)
    sorted_ids, _, expert_ids, valid, _ = ac.moe_sorting(ids, weights, 3, 4, torch.bfloat16, 2)
    assert valid.tolist() == [4, 2]
    assert sorted_ids[:4].tolist() == [0, (2 << 24) | 2, (1 << 24) | 1, (2 << 24) | 2]
    assert expert_ids[:2].tolist() == [0, 1]


def test_it_traces_into_one_graph():
    def sort(ids, weights):
        return ac.moe_sorting(ids, weights, 4, 8, torch.bfloat16, 2)

    ids, weights = torch.tensor([[0, 3], [3, 1]], dtype=torch.int32), torch.rand(2, 2)
    compiled = torch.compile(sort, backend="eager", fullgraph=True)
    assert all(torch.equal(one, other) for one, other in zip(compiled(ids, weights), sort(ids, weights), strict=True))


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"topk_ids": torch.zeros(2, 2)}, "topk_ids"),
        ({"topk_weights": torch.zeros(2, 3)}, "topk_weights"),
        ({"num_experts": 1}, "topk_ids"),
        ({"num_experts": 0}, "num_experts"),
        ({"block_size": 0}, "block_size"),
        ({"expert_mask": torch.ones(5, dtype=torch.int32)}, "expert_mask"),
        ({"expert_mask": torch.ones(4)}, "expert_mask"),
        ({"num_local_tokens": 3}, "num_local_tokens"),
        ({"num_local_tokens": torch.ones(2, dtype=torch.int32)}, "num_local_tokens"),
    ],
)
def test_what_does_not_fit_is_named(changed, argument):
    arguments = {
        "topk_ids": torch.tensor([[0, 1], [2, 3]]),
        "topk_weights": torch.ones(2, 2),
        "num_experts": 4,
        "model_dim": 8,
        "moebuf_dtype": torch.bfloat16,
    }
    with pytest.raises(ac.InvalidArgument) as raised:
        ac.moe_sorting(**{**arguments, **changed})
    assert raised.value.argument == argument
