"""Whether a call fits a parameter list, told only where it is certain."""

import pytest

from aiter_compat.checker.binding import misfit
from aiter_compat.hostscan import Arguments, Keyword, Place
from aiter_compat.probe.parameters import from_texts

HERE = Place(1, 1, "module")


def call(positional=0, keywords=(), **more):
    return Arguments(("x",) * positional, tuple(Keyword(name, HERE) for name in keywords), **more)


@pytest.mark.parametrize(
    ("parameters", "arguments", "problem"),
    [
        (["a", "b=1"], call(1), None),
        (["a", "b=1"], call(2), None),
        (["a", "b=1"], call(3), "at most 2"),
        (["a", "*rest"], call(9), None),
        (["a", "b"], call(1), "needs b"),
        (["a", "b"], call(1, ["b"]), None),
        (["a", "*", "b"], call(1), "needs b"),
        (["a"], call(1, ["a"]), "twice"),
        (["a", "/", "**more"], call(1, ["a"]), None),
        (["a", "b"], call(0, starred=True), None),
        (["a", "b"], call(1, open=True), None),
        (["a", "b"], call(1, bound=1), None),
        (["a", "b"], call(2, bound=1), "at most 2"),
        ([], call(), None),
    ],
)
def test_misfit(parameters, arguments, problem):
    found = misfit(from_texts(parameters), arguments)
    assert (found is None) if problem is None else (problem in found)


def test_a_keyword_that_is_reported_by_itself_does_not_fill_a_parameter():
    assert misfit(from_texts(["a"]), call(0, ["a"]), {"a"}) == "needs a, which the call leaves out"
