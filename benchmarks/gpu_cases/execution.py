"""How a call is run: again and again, from several streams, and inside CUDA graphs whose inputs change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import torch

from aiter_compat.backends.emulation import EmulationRequest
from benchmarks.gpu_cases.comparison import Outcome, Path, compare, outcome_of
from benchmarks.gpu_cases.small_layers import Case, Sizes, make

Outcomes: TypeAlias = Iterator[Outcome]
_REPEATS = 8
_STREAMS = 4
_TOKENS = (1, 33, 300, 2000)


def repeats(path: Path, device: torch.device) -> Outcomes:
    """The same call gives the same bits each time."""
    for tokens in _TOKENS:
        request = make(device, Sizes(tokens), bias1=True, bias2=True)

        def differing(request: EmulationRequest = request) -> str | None:
            first = path(request)
            count = sum(not torch.equal(path(request), first) for _ in range(_REPEATS))
            return f"{count} of {_REPEATS} repeats gave other bits" if count else None

        yield outcome_of(f"{tokens} tokens", differing)


def streams(path: Path, device: torch.device) -> Outcomes:
    """Calls that run at the same time do not disturb each other."""
    for tokens in _TOKENS:
        requests = [make(device, Sizes(tokens), seed=seed, bias1=True) for seed in range(_STREAMS)]

        def differing(requests: list[EmulationRequest] = requests) -> str | None:
            alone = [path(request) for request in requests]
            torch.cuda.synchronize()
            together: list[list[torch.Tensor]] = [[] for _ in requests]
            side = [torch.cuda.Stream() for _ in requests]
            for _ in range(_REPEATS):
                for stream, request, results in zip(side, requests, together, strict=True):
                    with torch.cuda.stream(stream):
                        results.append(path(request))
            torch.cuda.synchronize()
            count = sum(
                not torch.equal(result, expected)
                for results, expected in zip(together, alone, strict=True)
                for result in results
            )
            return f"{count} of {_REPEATS * _STREAMS} calls gave other bits than alone" if count else None

        yield outcome_of(f"{tokens} tokens, {_STREAMS} streams", differing)


def graphs(path: Path, device: torch.device) -> Outcomes:
    """A captured call reads its tokens, its routing and the number of tokens when it is replayed."""
    for tokens in _TOKENS:
        sizes = Sizes(tokens)
        counted = torch.tensor([tokens], dtype=torch.int32, device=device)
        static = replace(make(device, sizes, bias1=True, bias2=True), num_local_tokens=counted)
        batches = _changing_batches(static, sizes, device)

        def wrong(static: EmulationRequest = static, batches: Mapping[str, EmulationRequest] = batches) -> str | None:
            path(static)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = path(static)
            for label, batch in batches.items():
                _copy(static, batch)
                result.fill_(float("nan"))  # what a replay does not write shows
                graph.replay()
                torch.cuda.synchronize()
                replayed = result.clone()
                if not torch.equal(replayed, path(batch)):
                    return f"{label}: a replay gave other bits than a call"
                compared = compare(Case(label, batch), lambda _, replayed=replayed: replayed)
                if compared.problem is not None:
                    return f"{label}: {compared.problem}"
            return None

        yield outcome_of(f"{tokens} tokens", wrong)


def _changing_batches(static: EmulationRequest, sizes: Sizes, device: torch.device) -> Mapping[str, EmulationRequest]:
    batches = {}
    for seed in (1, 2, 3):
        other = make(device, sizes, seed=seed)
        batches[f"routing {seed}"] = replace(
            static,
            hidden_states=other.hidden_states,
            topk_ids=other.topk_ids,
            topk_weight=other.topk_weight,
            num_local_tokens=torch.tensor([sizes.tokens], dtype=torch.int32, device=device),
        )
    usual = batches["routing 1"]
    batches["one expert for all"] = replace(usual, topk_ids=usual.topk_ids * 0 + 7)
    batches["no expert for some"] = replace(usual, topk_ids=torch.where(usual.topk_ids % 2 == 0, -1, usual.topk_ids))
    half = torch.tensor([sizes.tokens // 2], dtype=torch.int32, device=device)
    batches["half of the tokens"] = replace(usual, num_local_tokens=half)
    return batches


def _copy(static: EmulationRequest, batch: EmulationRequest) -> None:
    static.hidden_states.copy_(batch.hidden_states)
    static.topk_ids.copy_(batch.topk_ids)
    static.topk_weight.copy_(batch.topk_weight)
    assert isinstance(static.num_local_tokens, torch.Tensor)
    assert isinstance(batch.num_local_tokens, torch.Tensor)
    static.num_local_tokens.copy_(batch.num_local_tokens)


GROUPS: Mapping[str, Callable[[Path, torch.device], Outcomes]] = {
    "repeats": repeats,
    "streams": streams,
    "CUDA graphs": graphs,
}
"""Name in the table -> what it does. They need a GPU."""
