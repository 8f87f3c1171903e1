"""The public functions on a device: their numbers, what they wait for, threads, and CUDA graphs around them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

import torch

import aiter_compat as ac
from benchmarks.gpu_cases.check_levels import CHECK_LEVELS, check_level
from benchmarks.gpu_cases.comparison import LIMIT, Outcome, guarded, outcome_of, relative_difference
from benchmarks.gpu_cases.public_layers import Batch, PublicLayer, batch, batches, public_layers

Outcomes: TypeAlias = Iterator[Outcome]
_TOKENS = (1, 33, 300, 2000)
_REPEATS = 8
_THREADS = 2
_FAST_PATHS = {"cuda": ("triton",), "cpu": ("compiled", "torch")}


def eager(device: torch.device) -> Outcomes:
    """The fast path is decided on, and gives the torch path's numbers."""
    for layer in public_layers(device):
        for tokens in (0, *_TOKENS):
            yield _compared(f"{layer.label}, {tokens} tokens", layer, batch(device, tokens, layer.experts))
        plain = batch(device, 33, layer.experts)
        converted = Batch(
            plain.hidden_states, plain.topk_weight.to(torch.bfloat16), plain.topk_ids.long(), plain.num_local_tokens
        )
        yield _compared(f"{layer.label}, int64 ids and bf16 weights", layer, converted)


def no_waits(device: torch.device) -> Outcomes:
    """No call waits for the device, neither one that is decided anew nor one that was prepared."""
    yield outcome_of("a wait would be noticed", lambda: _unnoticed(device))
    for level in CHECK_LEVELS:
        for layer in public_layers(device):
            yield outcome_of(f"{layer.label}, checks {level}", lambda: _waiting(layer, device, level))  # noqa: B023


def threads(device: torch.device) -> Outcomes:
    """Two threads with a stream each, on one layer: first calls of a process, and later ones."""
    for when in ("first calls", "later calls"):
        for level in CHECK_LEVELS:
            for layer in public_layers(device):
                label = f"{layer.label}, {when}, checks {level}"
                yield outcome_of(label, lambda: _disturbed(layer, device, level))  # noqa: B023


def graphs(device: torch.device) -> Outcomes:
    """A captured call reads its tokens, routing and number of tokens when it is replayed.

    "at once": this layer was never called before, so that all it does at its first call is done under capture.
    """
    for level in CHECK_LEVELS:
        for layer, new in zip(public_layers(device), public_layers(device), strict=True):
            for tokens in _TOKENS:
                label = f"{layer.label}, {tokens} tokens, checks {level}"
                yield outcome_of(label, lambda: _stale(layer, layer, tokens, device, level))  # noqa: B023
            label = f"{layer.label}, at once, checks {level}"
            yield outcome_of(label, lambda: _stale(layer, new, 33, device, level))  # noqa: B023


def _compared(label: str, layer: PublicLayer, given: Batch) -> Outcome:
    def look() -> Outcome:
        path = layer.explain(*given.tensors).path
        if path not in _FAST_PATHS[given.hidden_states.device.type]:
            return Outcome(label, problem=f"the {path} path was decided on")
        results = [layer.call(*given.tensors) for _ in range(2)]  # decided, then prepared
        difference = _difference(results[0], layer.call(*given.tensors, backend="torch"))
        if not torch.equal(*results):
            return Outcome(label, to_torch=difference, problem="a prepared call gave other bits")
        problem = None if difference <= LIMIT else f"{difference:.2e} is more than {LIMIT:.1e}"
        return Outcome(label, to_torch=difference, problem=problem)

    return guarded(label, look)


def _difference(result: torch.Tensor, expected: torch.Tensor) -> float:
    if result.shape != expected.shape or result.dtype != expected.dtype:
        raise ValueError(f"{tuple(result.shape)} {result.dtype} for {tuple(expected.shape)} {expected.dtype}")
    return relative_difference(result, expected)


def _unnoticed(device: torch.device) -> str | None:
    value = torch.ones((), device=device)
    try:
        with _waits_are_errors():
            value.item()
    except RuntimeError:
        return None
    return "reading a value raised nothing"


def _waiting(layer: PublicLayer, device: torch.device, level: str) -> str | None:
    given = [batch(device, tokens, layer.experts, seed) for seed, tokens in enumerate(_TOKENS)]
    with check_level(level):
        expected = [layer.call(*one.tensors) for one in given]
        torch.cuda.synchronize()
        with _waits_are_errors():
            prepared = [layer.call(*one.tensors) for one in given]
            ac.refresh()
            decided = [layer.call(*one.tensors) for one in given]
            layer.explain(*given[0].tensors)
    same = all(torch.equal(one, other) for results in (prepared, decided) for one, other in zip(results, expected))  # noqa: B905
    return None if same else "a call gave other bits"


@contextmanager
def _waits_are_errors() -> Iterator[None]:
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def _disturbed(layer: PublicLayer, device: torch.device, level: str) -> str | None:
    given = [[batch(device, tokens, layer.experts, seed) for tokens in _TOKENS] for seed in range(_THREADS)]
    torch.cuda.synchronize()
    together = threading.Barrier(_THREADS)

    def work(own: list[Batch]) -> list[list[torch.Tensor]]:
        together.wait()
        with torch.cuda.stream(torch.cuda.Stream()):  # type: ignore[no-untyped-call]
            results = [[layer.call(*one.tensors) for one in own] for _ in range(_REPEATS)]
        torch.cuda.synchronize()
        return results

    with check_level(level):
        with ThreadPoolExecutor(_THREADS) as pool:
            of_threads = list(pool.map(work, given))
        alone = [[layer.call(*one.tensors) for one in own] for own in given]
    count = sum(
        not torch.equal(result, expected)
        for results, own in zip(of_threads, alone, strict=True)
        for turn in results
        for result, expected in zip(turn, own, strict=True)
    )
    return f"{count} of {_THREADS * _REPEATS * len(_TOKENS)} calls gave other bits than alone" if count else None


def _stale(warm: PublicLayer, layer: PublicLayer, tokens: int, device: torch.device, level: str) -> str | None:
    static = batch(device, tokens, layer.experts)
    with check_level(level):
        for _ in range(3):
            warm.call(*static.tensors)
        torch.cuda.synchronize()
        result, replay = _captured(lambda: layer.call(*static.tensors))
        for label, changed in batches(device, tokens, layer.experts):
            static.copy_(changed)
            result.fill_(float("nan"))  # what a replay does not write shows
            replay()
            torch.cuda.synchronize()
            if not torch.equal(result, layer.call(*changed.tensors)):
                return f"{label}: a replay gave other bits than a call"
            difference = _difference(result, layer.call(*changed.tensors, backend="torch"))
            if not difference <= LIMIT:
                return f"{label}: {difference:.2e} to the torch path is more than {LIMIT:.1e}"
    return None


def _captured(function: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, Callable[[], None]]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return result, graph.replay


GROUPS: Mapping[str, Callable[[torch.device], Outcomes]] = {
    "public calls": eager,
    "public, no waits": no_waits,
    "public, threads": threads,
    "public, CUDA graphs": graphs,
}
"""Name in the table -> what it does. They need a GPU."""
