"""Times on a GPU: CUDA graphs that run through several batches, taken in turns.

One replay computes every batch once, in order, so that inputs rotate inside the graph, and a sample is a replay's time
by the number of its batches. Replays of one contender follow each other without a gap: the device is kept busy while
the host enqueues them, and the events between them see the device's time only.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from benchmarks.timing import Samples

_ROUNDS = 5
_MOST_REPLAYS = 20
_BUSY_CYCLES = 1_000_000  # about half a millisecond, in which the host enqueues the replays
_WARM_UPS = 2


@dataclass(frozen=True)
class Contender:
    """Something to time.

    Attributes:
        run: does the work of all batches once.
        calls: one for each batch. A graph reads the tensors that they hold, and does not keep them alive itself.
    """

    run: Callable[[], object]
    calls: Sequence[Callable[[], object]]

    @property
    def batches(self) -> int:
        """How many calls a run stands for."""
        return len(self.calls)


def captured(calls: Sequence[Callable[[], object]], device: torch.device) -> Contender:
    """Capture the calls, one after the other, in a CUDA graph. On a CPU they are run as they are."""
    if device.type != "cuda":
        return eager(calls)
    current, side = torch.cuda.current_stream(), torch.cuda.Stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        for call in calls:
            call()
    current.wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for call in calls:
                call()
    finally:
        torch.cuda.set_stream(current)  # a capture that fails leaves its own stream behind
    return Contender(graph.replay, calls)


def eager(calls: Sequence[Callable[[], object]]) -> Contender:
    """The calls without a graph, for what waits for the device inside a call."""

    def run() -> None:
        for call in calls:
            call()

    return Contender(run, calls)


def take_turns(
    contenders: Mapping[str, Contender], seconds_each: float, device: torch.device
) -> tuple[dict[str, Samples], dict[str, str]]:
    """Time everything in rounds.

    Args:
        contenders: by name.
        seconds_each: share of each, about; every one has at least one sample a round.
        device: where they run.

    Returns:
        Seconds of one batch, by name; and for those that failed, the error.
    """
    taken: dict[str, list[float]] = {}
    failed: dict[str, str] = {}
    replays: dict[str, int] = {}
    for name, contender in contenders.items():
        try:
            for _ in range(_WARM_UPS):
                seconds = _replays(contender, 1, device)[0] * contender.batches
        except Exception as error:  # noqa: BLE001 - one that fails must not stop the others
            failed[name] = f"{type(error).__name__}: {error}"
            continue
        taken[name] = []
        replays[name] = int(min(max(seconds_each / _ROUNDS / max(seconds, 1e-6), 1), _MOST_REPLAYS))
    order = list(taken)
    for number in range(_ROUNDS):
        # Another order each round: the clock falls after a contender that draws much power, and what comes next would
        # always pay for it.
        for name in random.Random(number).sample(order, len(order)):
            samples = taken[name]
            slow = replays[name] == 1 and len(samples) > 1 and sum(samples) > seconds_each
            if not slow:
                samples.extend(_replays(contenders[name], replays[name], device))
    return {name: Samples(tuple(seconds)) for name, seconds in taken.items()}, failed


def _replays(contender: Contender, count: int, device: torch.device) -> list[float]:
    if device.type != "cuda":
        return [_wall_seconds(contender) for _ in range(count)]
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    torch.cuda._sleep(_BUSY_CYCLES)
    contender.run()
    events[0].record()
    for event in events[1:]:
        contender.run()
        event.record()
    torch.cuda.synchronize()
    return [before.elapsed_time(after) / 1e3 / contender.batches for before, after in pairwise(events)]


def _wall_seconds(contender: Contender) -> float:
    start = time.perf_counter()
    contender.run()
    return (time.perf_counter() - start) / contender.batches
