"""The remembered installation: one object for all threads, forgotten on request."""

from __future__ import annotations

import sys
import threading

import pytest

from aiter_compat.detect import forget_installation, installation


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "aiter", raising=False)
    forget_installation()
    yield
    forget_installation()


def test_second_call_gives_the_same_object():
    assert installation() is installation()


def test_change_is_seen_after_forgetting_and_not_before(site):
    assert installation().kind == "absent"
    sys.path.append(str(site))
    site.package(version="0.1.14")
    assert installation().kind == "absent"
    forget_installation()
    assert installation().version == "0.1.14"


def test_all_threads_get_one_object():
    start = threading.Barrier(8)
    results = []

    def ask():
        start.wait()
        results.append(installation())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert len({id(result) for result in results}) == 1
