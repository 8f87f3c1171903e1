"""What the GPU benchmark and the GPU check do without a GPU: their numbers and verdicts have to be right there too."""

import dataclasses
import importlib.util
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from aiter_compat.backends.emulation import EmulationRequest, run
from aiter_compat.errors import UnsupportedByEmulation
from aiter_compat.profiles import profile
from benchmarks import gpu_peers, gpu_timing
from benchmarks.gpu_cases import cases
from benchmarks.gpu_cases.comparison import LIMIT, compare, relative_difference
from benchmarks.gpu_cases.fp64_reference import moe_fp64
from benchmarks.gpu_cases.small_layers import Case, Sizes, make
from benchmarks.gpu_layers import SHAPES, batches, batches_needed, layer
from benchmarks.peers_gpu.aiter_reference import AiterReference

CPU = torch.device("cpu")
TINY = Sizes(tokens=5, experts=4, choices=2, hidden=64, intermediate=32)


def test_the_check_passes_the_torch_path_and_says_how_far_it_is_from_fp64() -> None:
    outcome = compare(Case("plain", make(CPU, TINY, bias1=True, bias2=True)), run)
    assert outcome.problem is None
    assert outcome.to_torch == 0.0
    assert outcome.to_fp64 is not None
    assert 0.0 < outcome.to_fp64 < LIMIT


def wrong_scale(request: EmulationRequest) -> torch.Tensor:
    return run(request) * 1.01


def wrong_row(request: EmulationRequest) -> torch.Tensor:
    result = run(request)
    result[2] = result[1]
    return result


def not_written(request: EmulationRequest) -> torch.Tensor:
    result = run(request)
    result[0, 0] = float("nan")
    return result


def wrong_dtype(request: EmulationRequest) -> torch.Tensor:
    return run(request).float()


def broken(request: EmulationRequest) -> torch.Tensor:
    raise RuntimeError("no such kernel")


@pytest.mark.parametrize("path", [wrong_scale, wrong_row, not_written, wrong_dtype, broken])
def test_the_check_fails_a_path_that_is_wrong(path: Callable[[EmulationRequest], torch.Tensor]) -> None:
    assert compare(Case("plain", make(CPU, TINY)), path).problem is not None


def test_the_check_sees_a_result_where_there_should_be_none() -> None:
    request = make(CPU, TINY)
    nothing = dataclasses.replace(request, topk_ids=request.topk_ids * 0 - 1)
    assert compare(Case("no expert", nothing), run).problem is None
    assert compare(Case("no expert", nothing), lambda call: run(call) + 1).problem is not None


def test_a_refused_call_is_no_failure_and_is_told_apart_from_one() -> None:
    def refuse(request: EmulationRequest) -> torch.Tensor:
        raise UnsupportedByEmulation("not here")

    outcome = compare(Case("plain", make(CPU, TINY)), refuse)
    assert outcome.problem is None
    assert outcome.refused is not None


def test_nan_has_to_be_where_the_torch_path_has_it() -> None:
    request = make(CPU, TINY)
    request.hidden_states[1, 3] = float("nan")
    case = Case("NaN", request, finite=False)
    assert compare(case, run).problem is None
    assert compare(case, lambda call: run(call).nan_to_num()).problem is not None


def test_relative_difference_of_zeros() -> None:
    zero, one = torch.zeros(3), torch.ones(3)
    assert relative_difference(zero, zero) == 0.0
    assert relative_difference(one, zero) == float("inf")
    assert relative_difference(one * 1.5, one) == pytest.approx(0.5)


def test_the_fp64_reference_is_the_textbook_formula_where_nothing_is_rounded() -> None:
    request = make(CPU, TINY, activation_format="none", bias1=True, bias2=True)
    request = dataclasses.replace(request, out_dtype=torch.float32, profile=profile(second_qdq_from="fp32"))
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)

    def values(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        nibbles = torch.stack((codes & 15, codes >> 4), -1).flatten(-2).long()
        return torch.cat((table, -table))[nibbles] * torch.exp2(scales.double() - 127).repeat_interleave(32, -1)

    w1, w2 = values(request.w1, request.w1_scale), values(request.w2, request.w2_scale)
    expected = torch.zeros(TINY.tokens, TINY.hidden, dtype=torch.float64)
    for token in range(TINY.tokens):
        for expert, weight in zip(request.topk_ids[token].tolist(), request.topk_weight[token].double(), strict=True):
            gate, up = (w1[expert] @ request.hidden_states[token].double() + request.bias1[expert].double()).chunk(2)
            gate, up = gate.clamp(max=7), up.clamp(-7, 7)
            activated = (gate * torch.sigmoid(1.702 * gate) * (up + 1)).float().double()
            expected[token] += weight * (w2[expert] @ activated + request.bias2[expert].double())
    assert relative_difference(moe_fp64(request), expected) < 1e-7


def test_every_group_of_the_check_has_cases_with_labels_of_their_own() -> None:
    for name in ("routing", "values", "weight layouts", "shared experts"):
        labels = [case.label for case in cases.GROUPS[name](CPU)]
        assert labels
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", ["a", "b", "c"])
@pytest.mark.parametrize("tokens", [1, 16, 16384])
def test_batches_in_turn_read_several_times_what_a_cache_holds(name: str, tokens: int) -> None:
    shape = SHAPES[name][0]
    touched = min(tokens * shape.choices, shape.experts)
    count = batches_needed(shape, tokens)
    assert 4 <= count <= 16
    assert count * touched * shape.expert_bytes > 2.5e8 or count == 16


def test_batches_differ_in_tokens_and_routing_and_share_the_weights() -> None:
    weights = layer("tiny", CPU)
    first, second = batches(weights, 6, 2, 2)
    assert first.w1 is second.w1
    assert not torch.equal(first.hidden_states, second.hidden_states)
    assert not torch.equal(first.topk_ids, second.topk_ids)


def test_aiters_algorithm_gives_what_the_torch_path_gives() -> None:
    weights = layer("tiny", CPU)
    (request,) = batches(weights, 3, 2, 1)
    assert relative_difference(AiterReference().call(request), run(request)) < LIMIT


def test_a_contender_that_fails_stops_no_other() -> None:
    def fail() -> None:
        raise RuntimeError("out of memory")

    contenders = {"works": gpu_timing.eager([int, int]), "fails": gpu_timing.eager([fail])}
    samples, failed = gpu_timing.take_turns(contenders, 1e-4, CPU)
    assert list(samples) == ["works"]
    assert samples["works"].median >= 0.0
    assert failed == {"fails": "RuntimeError: out of memory"}


def test_a_time_is_that_of_one_batch() -> None:
    calls = []
    contender = gpu_timing.eager([lambda: calls.append(0), lambda: calls.append(1)])
    assert contender.batches == 2
    contender.run()
    assert calls == [0, 1]


def test_a_peer_that_cannot_be_had_is_named_with_its_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_peers, "_ours", lambda: {gpu_peers.OURS: gpu_peers.Peer(run)})
    options = Namespace(peers=["triton_kernels", "aiter"], triton_kernels=None)
    built, failed = gpu_peers.build(layer("tiny", CPU), options)
    assert set(built) == {gpu_peers.OURS, AiterReference.name}
    assert list(failed) == ["triton_kernels"]
    capsys.readouterr()


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
def test_a_figure_shows_what_was_measured_even_where_a_peer_is_missing(tmp_path: Path) -> None:
    from benchmarks.gpu_plots import draw

    times = {"median_ms": 0.02, "lower_quartile_ms": 0.01, "upper_quartile_ms": 0.03}
    rows = [
        {"tokens": 1, "floor_ms": {"bytes": 0.01}, "times": {gpu_peers.OURS: times, AiterReference.name: times}},
        {"tokens": 16, "floor_ms": {"bytes": 0.01}, "times": {gpu_peers.OURS: times}},
    ]
    shape = dataclasses.asdict(SHAPES["a"][0])
    text = draw(
        {"rows": rows, "shape": shape, "model": "m", "card": {"name": "x"}}, tmp_path / "figure.svg"
    ).read_text()
    assert "<svg" in text
    assert text.count("<!-- tokens -->") == 2
