"""The public functions under `torch.compile`: the registered operators, their fakes, and CUDA graphs that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch._dynamo.utils import counters
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.gpu_cases.check_levels import CHECK_LEVELS, check_level
from benchmarks.gpu_cases.comparison import Outcome, outcome_of
from benchmarks.gpu_cases.public_layers import Batch, PublicLayer, batch, batches, public_layers

Outcomes: TypeAlias = Iterator[Outcome]
_TOKENS = (33, 300, 2000)
_COMPILER: dict[str, Any] = {}
_GRAPHS_COMPILER: dict[str, Any] = {"mode": "reduce-overhead"}


def compiled(device: torch.device) -> Outcomes:
    """fullgraph=True gives the eager call's bits, for one number of tokens a graph and for one graph for all."""
    for layer in public_layers(device):
        yield outcome_of(f"{layer.label}, static sizes", lambda: _wrong_when_static(layer, device))  # noqa: B023
        yield outcome_of(f"{layer.label}, dynamic size", lambda: _wrong_when_dynamic(layer, device))  # noqa: B023


def operators(device: torch.device) -> Outcomes:
    """The operator is what a graph holds, and it, its schema and its fake agree."""
    for layer in public_layers(device):
        yield outcome_of(layer.label, lambda: _unfit_operator(layer, device))  # noqa: B023


def reduce_overhead(device: torch.device) -> Outcomes:
    """mode="reduce-overhead" captures the call, and gives the eager call's bits with whatever it is replayed."""
    for level in CHECK_LEVELS:
        for layer in public_layers(device):
            for tokens in (1, 33, 2000):
                label = f"{layer.label}, {tokens} tokens, checks {level}"
                yield outcome_of(label, lambda: _wrong_when_replayed(layer, tokens, device, level))  # noqa: B023


def _in_a_model(layer: PublicLayer) -> Callable[..., torch.Tensor]:
    """The call between operations that a compiler makes kernels for; times 2 rounds nothing."""

    def function(hidden_states: torch.Tensor, *routed: torch.Tensor) -> torch.Tensor:
        return layer.call(hidden_states * 2, *routed) * 2

    return function


def _compile(function: Callable[..., torch.Tensor], **options: Any) -> Callable[..., torch.Tensor]:
    torch.compiler.reset()  # graphs of other layers count against the limit of this code
    graph: Callable[..., torch.Tensor] = torch.compile(function, fullgraph=True, **options)
    return graph


def _wrong_when_static(layer: PublicLayer, device: torch.device) -> str | None:
    function = _in_a_model(layer)
    graph = _compile(function, dynamic=False, **_COMPILER)
    for seed, stance in enumerate(("default", "fail_on_recompile")):
        with torch.compiler.set_stance(stance):
            for tokens in _TOKENS:
                given = batch(device, tokens, layer.experts, seed)
                if not torch.equal(graph(*given.tensors), function(*given.tensors)):
                    return f"{tokens} tokens, seed {seed}: other bits than eager"
    return None


def _wrong_when_dynamic(layer: PublicLayer, device: torch.device) -> str | None:
    function = _in_a_model(layer)
    graph = _compile(function, **_COMPILER)
    for tokens, stance in zip((*_TOKENS, 2), ("default", *("fail_on_recompile",) * len(_TOKENS)), strict=True):
        given = batch(device, tokens, layer.experts, tokens)
        for tensor in (given.hidden_states, given.topk_weight, given.topk_ids):
            torch._dynamo.mark_dynamic(tensor, 0)
        with torch.compiler.set_stance(stance):
            if not torch.equal(graph(*given.tensors), function(*given.tensors)):
                return f"{tokens} tokens: other bits than eager"
    return None


def _unfit_operator(layer: PublicLayer, device: torch.device) -> str | None:
    calls = _OperatorCalls(layer.operator)
    held: list[str] = []

    def compiler(module: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
        held.extend(str(node.target) for node in module.graph.nodes if node.op == "call_function")

        def run(*arguments: Any) -> Any:
            with calls:
                return module(*arguments)

        return run

    _compile(_in_a_model(layer), backend=compiler)(*batch(device, 33, layer.experts).tensors)
    if held.count(layer.operator) != 1 or len(calls.seen) != 1:
        return f"{layer.operator} is not in the graph once: {', '.join(held)}"
    ((operator, arguments, named),) = calls.seen
    torch.library.opcheck(operator, arguments, named)
    return None


class _OperatorCalls(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes what an operator is called with."""

    def __init__(self, operator: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operator = operator
        self.seen: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if str(func) == self.operator:
            self.seen.append((func, args, kwargs or {}))
        return func(*args, **kwargs or {})


def _wrong_when_replayed(layer: PublicLayer, tokens: int, device: torch.device, level: str) -> str | None:
    function = _in_a_model(layer)
    with check_level(level):
        graph = _compile(function, dynamic=False, **_GRAPHS_COMPILER)
        counters.clear()
        given = dict(batches(device, tokens, layer.experts))
        results = {label: _step(graph, one) for label, one in given.items()}  # warm-up, capture, replays
        noted = counters["inductor"]
        if noted["cudagraph_skips"] or not noted["cudagraph_recorded_non_static_inputs"]:
            return "torch.compile made no CUDA graph of it"
        wrong = [label for label, one in given.items() if not torch.equal(results[label], function(*one.tensors))]
    return f"other bits than eager: {', '.join(wrong)}" if wrong else None


def _step(graph: Callable[..., torch.Tensor], given: Batch) -> torch.Tensor:
    torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
    return graph(*given.tensors).clone()  # the next step writes where this one's result lies


GROUPS: Mapping[str, Callable[[torch.device], Outcomes]] = {
    "public, compiled": compiled,
    "public, operators": operators,
    "public, reduced": reduce_overhead,
}
"""Name in the table -> what it does. They need a GPU."""
