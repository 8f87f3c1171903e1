"""One warning class, once per cause, at the line that the host can change."""

import threading
import warnings

import pytest

import aiter_compat as ac
from aiter_compat.warning_types import warn_once


def test_the_class_is_public():
    assert issubclass(ac.AiterCompatWarning, UserWarning)
    assert ac.AiterCompatWarning.__module__ == "aiter_compat"


def test_a_cause_speaks_once_until_refresh():
    for _ in range(2):
        with pytest.warns(ac.AiterCompatWarning, match="falls back"):
            warn_once("limit", "falls back")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_once("limit", "falls back again")
        ac.refresh()


def test_another_cause_speaks_too():
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        warn_once("limit", "one")
        warn_once("bias", "two")
    assert [str(warning.message) for warning in issued] == ["one", "two"]


def test_the_warning_points_at_the_caller():
    def library_function():
        warn_once("here", "look", stacklevel=2)

    with pytest.warns(ac.AiterCompatWarning) as issued:
        library_function()
    assert issued[0].filename == __file__


def test_of_many_threads_one_speaks():
    start = threading.Barrier(8)

    def work():
        start.wait()
        warn_once("threads", "once")

    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(issued) == 1


def test_a_warning_turned_into_an_error_does_not_come_twice():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ac.AiterCompatWarning):
            warn_once("strict host", "once")
        warn_once("strict host", "once")
