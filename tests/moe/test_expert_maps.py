"""Expert parallelism: maps and masks are converted, validated and never taken for each other."""

import pytest
import torch

import aiter_compat as ac
from aiter_compat.moe import experts_map

SIZES = {"hidden_size": 64, "intermediate_size": 32, "num_experts": 6, "top_k": 2, "weight_format": "bf16"}


@pytest.fixture
def layer(make_layer):
    return make_layer("bf16", experts=6, tokens=9)


@pytest.fixture
def config():
    return ac.MoEConfig(**SIZES)


def prepared(layer, config, experts=slice(None)):
    return ac.prepare_weights(layer.call["w1"][experts], layer.call["w2"][experts], config=config, backend="emulation")


def run(layer, config, experts=slice(None), **options):
    weights = prepared(layer, config, experts)
    routing = (layer.call["topk_weight"], layer.call["topk_ids"])
    return ac.fused_experts(layer.call["hidden_states"], weights, *routing, config=config, **options)


def map_of(local_experts):
    """The map of a rank that holds these global experts, in this order."""
    expert_map = torch.full((6,), -1)
    expert_map[list(local_experts)] = torch.arange(len(local_experts))
    return expert_map


@pytest.mark.parametrize("ranks", [((0, 1, 2), (3, 4, 5)), ((0, 2, 5), (1, 3), (4,)), ((5, 1, 3), (4, 0, 2))])
def test_the_sum_over_ranks_is_the_whole_layer(layer, config, without_aiter, ranks):
    whole = run(layer, config, dtype=torch.float32)
    parts = [run(layer, config, list(rank), expert_map=map_of(rank), dtype=torch.float32) for rank in ranks]
    torch.testing.assert_close(sum(parts), whole, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(parts[0], whole)


def test_a_map_and_its_mask_say_the_same(layer, config, without_aiter):
    rank = [1, 2, 4]
    by_map = run(layer, config, rank, expert_map=map_of(rank))
    mask = (map_of(rank) >= 0).int()
    sharded = layer.call | {name: layer.call[name][rank] for name in ("w1", "w2")}
    assert torch.equal(ac.fused_moe(**sharded, expert_mask=mask), by_map)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.int16])
def test_ids_outside_the_map_contribute_nothing(layer, config, without_aiter, dtype):
    """Hosts pad batches with ids such as -1 or the number of experts."""
    layer.call["topk_ids"][0] = torch.tensor([-1, 6])
    layer.call["topk_ids"][1] = torch.tensor([2, 60])
    out = run(layer, config, expert_map=torch.arange(6).to(dtype))
    assert not out[0].any()
    assert out[1].any()


def test_a_mask_as_map_and_a_map_as_mask_are_refused(layer, config):
    rank = [0, 2, 5]
    mask = torch.tensor([1, 0, 1, 0, 0, 1])
    with pytest.raises(ac.InvalidArgument, match=r"expert_map: .*expert_mask=") as caught:
        run(layer, config, rank, expert_map=mask)
    assert caught.value.argument == "expert_map"
    sharded = layer.call | {name: layer.call[name][rank] for name in ("w1", "w2")}
    with pytest.raises(ac.InvalidArgument, match=r"expert_map=") as caught:
        ac.fused_moe(**sharded, expert_mask=map_of(rank))
    assert caught.value.argument == "expert_mask"
    assert ac.fused_moe(**sharded, expert_mask=mask) is not None


@pytest.mark.parametrize(
    ("expert_map", "words"),
    [
        (torch.tensor([0, 1, -1]), "[6]"),
        (torch.tensor([[0, 1, 2, -1, -1, -1]]), "[6]"),
        (torch.tensor([0, 1, 1, -1, -1, -1]), "once"),
        (torch.tensor([0, 1, 3, -1, -1, -1]), "0 to 2"),
        (torch.tensor([0, 1, -1, -1, -1, -1]), "0 to 2"),
        (torch.tensor([0.0, 1.0, 2.0, -1.0, -1.0, -1.0]), "signed integer"),
        (torch.tensor([True] * 6), "signed integer"),
        ([0, 1, 2, -1, -1, -1], "torch.Tensor"),
    ],
)
def test_what_is_no_map(layer, config, expert_map, words):
    with pytest.raises(ac.InvalidArgument) as caught:
        run(layer, config, [0, 1, 2], expert_map=expert_map)
    assert caught.value.argument == "expert_map"
    assert words in str(caught.value)


def test_a_map_in_another_order_is_not_aiters(aiter_stub, usable_on_cpu, layer, config):
    aiter_stub("0.1.15.post3")
    ordered, rank = (1, 3, 5), [5, 1, 3]
    by_backend = [
        run(layer, config, list(ordered), expert_map=map_of(ordered), backend=name).float()
        for name in ("aiter", "emulation")
    ]
    assert (by_backend[0] - by_backend[1]).norm() < 6e-3 * by_backend[1].norm()
    with pytest.raises(ac.UnsupportedByAiter, match="in the order of their global ids"):
        run(layer, config, rank, expert_map=map_of(rank), backend="aiter")
    with pytest.warns(ac.AiterCompatWarning, match="expert_map"):
        emulated = run(layer, config, rank, expert_map=map_of(rank))
    assert torch.equal(emulated, run(layer, config, rank, expert_map=map_of(rank), backend="emulation"))


class TestOneReadingAMap:
    @pytest.fixture
    def readings(self, monkeypatch):
        seen = []
        read = experts_map._read_order
        monkeypatch.setattr(experts_map, "_read_order", lambda *a: (seen.append(a), read(*a))[1])
        return seen

    def test_a_map_is_read_once(self, layer, config, readings, without_aiter):
        expert_map = map_of((0, 1, 2))
        for _ in range(3):
            run(layer, config, [0, 1, 2], expert_map=expert_map)
        assert len(readings) == 1

    def test_changes_in_place_are_seen(self, layer, config, without_aiter):
        expert_map = map_of((0, 1, 2))
        before = run(layer, config, [0, 1, 2], expert_map=expert_map)
        expert_map.copy_(map_of((3, 4, 5)))
        after = run(layer, config, [0, 1, 2], expert_map=expert_map)
        assert torch.equal(after, run(layer, config, [0, 1, 2], expert_map=map_of((3, 4, 5))))
        assert not torch.equal(after, before)
        expert_map[3] = -1
        with pytest.raises(ac.InvalidArgument):
            run(layer, config, [0, 1, 2], expert_map=expert_map)

    def test_another_number_of_experts_is_checked_anew(self, layer, config, without_aiter):
        expert_map = map_of((0, 1, 2))
        run(layer, config, [0, 1, 2], expert_map=expert_map)
        with pytest.raises(ac.InvalidArgument, match="0 to 3"):
            run(layer, config, [0, 1, 2, 3], expert_map=expert_map)

    def test_maps_that_do_not_count_their_changes_are_read_each_time(self, layer, config, readings, without_aiter):
        with torch.inference_mode():
            expert_map = map_of((0, 1, 2))
            before = run(layer, config, [0, 1, 2], expert_map=expert_map)
            expert_map.copy_(map_of((3, 4, 5)))
            assert not torch.equal(run(layer, config, [0, 1, 2], expert_map=expert_map), before)
        assert len(readings) == 2

    def test_a_map_that_is_gone_is_forgotten(self):
        answers = (experts_map._orders.kept, experts_map._masks.kept)
        before = [len(kept) for kept in answers]
        expert_map = map_of((0, 1, 2))
        assert experts_map.map_in_order(expert_map, 3, 6)
        assert experts_map.mask_of_map(expert_map).tolist() == [1, 1, 1, 0, 0, 0]
        assert [len(kept) for kept in answers] == [count + 1 for count in before]
        del expert_map
        assert [len(kept) for kept in answers] == before

    def test_the_emulation_keeps_no_mask(self, layer, config, without_aiter):
        """Made in the warm-up of a captured call it would lie in the memory of the graph, and torch refuses that."""
        expert_map = map_of((0, 1, 2))
        for _ in range(2):
            run(layer, config, [0, 1, 2], expert_map=expert_map)
        assert id(expert_map) not in experts_map._masks.kept

    def test_a_new_map_is_not_read_while_a_graph_is_captured(self, monkeypatch, readings):
        class OnDevice(torch.Tensor):
            is_cuda = True

        expert_map = map_of((0, 1, 2)).as_subclass(OnDevice)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        assert not experts_map.map_in_order(expert_map, 3, 6)
        with pytest.raises(ac.InvalidArgument, match=r"expert_map: got shape"):
            experts_map.map_in_order(expert_map, 3, 7)
        assert not readings
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
        assert experts_map.map_in_order(expert_map, 3, 6)
        assert len(readings) == 1
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        assert experts_map.map_in_order(expert_map, 3, 6)
        assert len(readings) == 1


def test_a_map_on_another_device_is_named(layer, config, without_aiter):
    rank = [0, 1, 2]
    weights = prepared(layer, config, rank).to("meta")
    hidden_states, *routing = (layer.call[name].to("meta") for name in ("hidden_states", "topk_weight", "topk_ids"))
    with pytest.raises(ac.InvalidArgument, match=r"expert_map: got a tensor on cpu; allowed: a tensor on meta"):
        ac.fused_experts(hidden_states, weights, *routing, config=config, expert_map=map_of(rank))
