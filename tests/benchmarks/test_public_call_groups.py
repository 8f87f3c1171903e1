"""The GPU check's groups about public calls, run on a CPU: they pass what is right and fail what is wrong."""

import contextlib
from collections.abc import Callable, Iterator

import pytest
import torch
from torch._dynamo.utils import counters

import aiter_compat as ac
from aiter_compat.moe import run
from benchmarks import gpu_check
from benchmarks.gpu_cases import check_levels, compiled_calls, public_calls, public_layers
from benchmarks.gpu_cases.comparison import Outcome, Path
from benchmarks.gpu_cases.small_layers import Sizes

CPU = torch.device("cpu")
Captured = tuple[torch.Tensor, Callable[[], None]]


def recomputed(function: Callable[[], torch.Tensor]) -> Captured:
    """Stands for a CUDA graph: a replay computes again from the same memory."""
    result = function()

    def replay() -> None:
        result.copy_(function())

    return result, replay


def frozen(function: Callable[[], torch.Tensor]) -> Captured:
    """A graph that has read its inputs when it was captured."""
    result = function()
    kept = result.clone()

    def replay() -> None:
        result.copy_(kept)

    return result, replay


@pytest.fixture(autouse=True)
def small_and_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    sizes = Sizes(experts=8, choices=2, hidden=64, intermediate=32)
    monkeypatch.setattr(public_layers, "SIZES", sizes)
    monkeypatch.setattr(public_calls, "_TOKENS", (1, 5))
    monkeypatch.setattr(public_calls, "_REPEATS", 2)
    monkeypatch.setattr(public_calls, "_captured", recomputed)
    monkeypatch.setattr(public_calls, "_waits_are_errors", contextlib.nullcontext)
    monkeypatch.setattr(compiled_calls, "_TOKENS", (3, 5))
    monkeypatch.setattr(compiled_calls, "_COMPILER", {"backend": "aot_eager"})
    monkeypatch.setattr(compiled_calls, "_GRAPHS_COMPILER", {"backend": "aot_eager"})
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: None)
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def changed(path: Path, change: Callable[[torch.Tensor], torch.Tensor]) -> Path:
    return lambda request: change(path(request))


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[torch.Tensor], torch.Tensor]], None]:
    """Change what the fast path computes: `breaks(change)`."""

    def change_by(change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        for path in ("compiled", "torch"):
            monkeypatch.setitem(run._PATHS, path, changed(run._PATHS[path], change))

    return change_by


def problems(outcomes: Iterator[Outcome]) -> list[str | None]:
    found = list(outcomes)
    assert len({outcome.label for outcome in found}) == len(found) > 0
    assert not any(outcome.refused for outcome in found)
    return [outcome.problem for outcome in found]


@pytest.mark.parametrize("name", ["public calls", "public, threads", "public, CUDA graphs"])
def test_eager_calls_pass(name: str) -> None:
    assert not any(problems(public_calls.GROUPS[name](CPU)))


def test_a_check_that_notices_no_wait_says_so() -> None:
    first, *others = problems(public_calls.no_waits(CPU))
    assert first == "reading a value raised nothing"
    assert not any(others)


def test_compiled_calls_pass() -> None:
    assert not any(problems(compiled_calls.compiled(CPU)))


def test_operators_pass() -> None:
    assert not any(problems(compiled_calls.operators(CPU)))


def test_a_compiler_that_makes_no_cuda_graph_does_not_pass() -> None:
    layer = next(public_layers.public_layers(CPU))
    made = compiled_calls._wrong_when_replayed(layer, 3, CPU, "metadata")
    assert made == "torch.compile made no CUDA graph of it"


def test_replayed_calls_pass_where_a_graph_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    step = compiled_calls._step

    def recorded(graph: Callable[..., torch.Tensor], given: public_layers.Batch) -> torch.Tensor:
        counters["inductor"]["cudagraph_recorded_non_static_inputs"] += 1
        return step(graph, given)

    monkeypatch.setattr(compiled_calls, "_step", recorded)
    layer = next(public_layers.public_layers(CPU))
    assert compiled_calls._wrong_when_replayed(layer, 3, CPU, "off") is None
    first = compiled_calls._step
    seen: list[torch.Tensor] = []

    def always_the_first(graph: Callable[..., torch.Tensor], given: public_layers.Batch) -> torch.Tensor:
        seen.append(first(graph, given))
        return seen[0]

    monkeypatch.setattr(compiled_calls, "_step", always_the_first)
    assert "routing 2" in (compiled_calls._wrong_when_replayed(layer, 3, CPU, "off") or "")


def test_a_graph_that_does_not_read_its_inputs_again_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_calls, "_captured", frozen)
    assert all(problems(public_calls.graphs(CPU)))


def test_another_path_than_the_devices_fast_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(public_calls._FAST_PATHS, "cpu", ("triton",))
    assert all("path was decided on" in str(problem) for problem in problems(public_calls.eager(CPU)))


def test_results_that_depend_on_the_turn_fail(breaks: Callable[..., None]) -> None:
    turns = iter(range(1, 10**6))
    breaks(lambda result: result + next(turns))
    layer = next(public_layers.public_layers(CPU))
    given = public_layers.batch(CPU, 5, layer.experts)
    assert "other bits" in str(public_calls._compared("each turn", layer, given).problem)
    assert public_calls._disturbed(layer, CPU, "metadata") is not None
    assert public_calls._waiting(layer, CPU, "metadata") is not None
    assert compiled_calls._wrong_when_static(layer, CPU) is not None
    assert compiled_calls._wrong_when_dynamic(layer, CPU) is not None


def test_the_level_of_checks_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from aiter_compat.settings import settings

    monkeypatch.setenv("AITER_COMPAT_CHECKS", "debug")
    ac.refresh()
    with check_levels.check_level("off"):
        assert settings().checks == "off"
    assert settings().checks == "debug"
    monkeypatch.delenv("AITER_COMPAT_CHECKS")
    with check_levels.check_level("off"):
        pass
    assert settings().checks == "metadata"


def test_they_need_a_gpu() -> None:
    public = {*public_calls.GROUPS, *compiled_calls.GROUPS}
    assert public <= set(gpu_check.GROUPS)
    assert public <= set(gpu_check._NEED_GPU)
