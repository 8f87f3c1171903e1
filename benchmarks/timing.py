"""Times of several ways to do the same, taken in turns, so that a busy machine is unfair to all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_BURST_SECONDS = 0.03
_LONGEST_BURST = 20


@dataclass(frozen=True)
class Samples:
    """Seconds of each repeat."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """A quarter of the repeats was faster than the first, a quarter slower than the second."""
        if len(self.seconds) < 2:
            return self.seconds[0], self.seconds[0]
        cuts = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return cuts[0], cuts[2]

    def as_dict(self) -> dict[str, float | int]:
        """Milliseconds, for JSON."""
        low, high = self.quartiles
        return {
            "median_ms": self.median * 1e3,
            "lower_quartile_ms": low * 1e3,
            "upper_quartile_ms": high * 1e3,
            "fastest_ms": min(self.seconds) * 1e3,
            "repeats": len(self.seconds),
        }


def take_turns(
    work: Mapping[str, Callable[[], object]],
    seconds_each: float,
    *,
    threads: int,
    fewest: int = 3,
    most: int = 400,
) -> dict[str, Samples]:
    """Time everything in `work`, once untimed, then in rounds until each has had its share of time.

    A turn of something fast is a burst of several calls, each timed: what the previous one left in the caches, Python's
    own code included, would otherwise be most of what is measured.

    Args:
        work: name -> what to time.
        seconds_each: share of each; a slow one has at least `fewest` repeats however long they take.
        threads: how many the work uses. With one the clock is the thread's processor time, which leaves out what other
            programs took meanwhile; with more it is the wall's.
        fewest: repeats at least.
        most: repeats at most.
    """
    clock = time.thread_time if threads == 1 else time.perf_counter
    taken: dict[str, list[float]] = {name: [] for name in work}
    bursts = {}
    for name, call in work.items():
        call()
        bursts[name] = max(1, min(_LONGEST_BURST, int(_BURST_SECONDS / _seconds(call, clock))))
    waiting = set(work)
    while waiting:
        for name, call in work.items():
            if name not in waiting:
                continue
            taken[name] += [_seconds(call, clock) for _ in range(bursts[name])]
            enough = sum(taken[name]) >= seconds_each and len(taken[name]) >= fewest
            if enough or len(taken[name]) >= most:
                waiting.discard(name)
    return {name: Samples(tuple(seconds)) for name, seconds in taken.items()}


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start
