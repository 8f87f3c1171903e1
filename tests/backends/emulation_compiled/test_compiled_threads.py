"""Calls from several threads, after a fork, and with helpers that come late or never."""

import multiprocessing
import sys
import threading
import time

import pytest
import torch

from aiter_compat.backends.emulation import run_compiled
from aiter_compat.backends.emulation.compiled.helpers import HELPERS, HelperThreads


def test_calls_from_several_threads_do_not_disturb_each_other(request_of, threads):
    threads(2)
    requests = [request_of(20 + seed, seed=seed) for seed in range(4)]
    expected = [run_compiled(request) for request in requests]
    wrong = []

    def call(index):
        for _ in range(10):
            if not torch.equal(run_compiled(requests[index]), expected[index]):
                wrong.append(index)

    workers = [threading.Thread(target=call, args=(index,)) for index in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_helpers_that_never_come_are_not_waited_for(request_of, threads, monkeypatch):
    request = request_of(20)
    expected = run_compiled(request)
    threads(4)
    monkeypatch.setattr(HELPERS, "offer", lambda job, count: None)
    assert torch.equal(run_compiled(request), expected)


def test_helpers_that_come_late_do_no_harm(request_of, threads, monkeypatch):
    request = request_of(20)
    expected = run_compiled(request)
    threads(2)
    late = []
    monkeypatch.setattr(HELPERS, "offer", lambda job, count: late.append(job))
    result = run_compiled(request)
    late[0]()
    assert torch.equal(result, expected)


def test_jobs_do_not_pile_up_behind_busy_helpers():
    helpers, gate, ran = HelperThreads(), threading.Event(), []
    for _ in range(20):
        helpers.offer(lambda: (gate.wait(10), ran.append(1)), 1)
    gate.set()
    deadline = time.monotonic() + 10
    while not ran and time.monotonic() < deadline:
        time.sleep(0.01)
    assert 1 <= len(ran) <= 4


def _in_child(request, queue):
    torch.set_num_threads(2)
    queue.put(run_compiled(request).numpy())


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_the_same(request_of, threads):
    threads(2)
    request = request_of(20)
    expected = run_compiled(request)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(request, queue))
    child.start()
    result = queue.get(timeout=60)
    child.join(timeout=60)
    assert torch.equal(torch.from_numpy(result), expected)
