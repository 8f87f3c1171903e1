"""Threads that help with a layer if they come in time.

numba's own thread pools abort the process when two threads use them at once (workqueue) or when a process that used one
forks (GNU OpenMP). Here the caller computes, and whoever of these threads wakes up joins in; nobody waits for a
thread, only for tasks, so a busy or missing helper costs nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue


class HelperThreads:
    """Daemon threads, started when first needed and forgotten in a forked child."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._count = 0

    def offer(self, job: Callable[[], None], count: int) -> None:
        """Have up to `count` helpers run `job` as soon as they can; returns at once.

        Args:
            job: must be harmless however late it runs, and raise nothing.
            count: how many helpers may run it.
        """
        if self._jobs.qsize() >= 2 * count:
            return  # they are behind, and would only find that all is done
        if count > self._count:
            self._start(count)
        for _ in range(count):
            self._jobs.put(job)

    def _start(self, count: int) -> None:
        with self._lock:
            while self._count < count:
                name = f"aiter_compat-{self._count}"
                threading.Thread(target=_work, args=(self._jobs,), name=name, daemon=True).start()
                self._count += 1


def _work(jobs: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        job = jobs.get()
        job()
        del job  # its buffers are not to be kept until the next one comes


HELPERS = HelperThreads()
