"""The demo fails when a number is off: no result may be made wrong without its exit code saying so."""

import math
from dataclasses import dataclass, field, replace

import pytest

from aiter_compat.demo.verdict import (
    CLEAR_MARGIN,
    ERROR_BOUND,
    LAYER_BOUND,
    MOST_FACTOR,
    compared_steps,
    failures,
)


@dataclass(frozen=True)
class Error:
    median: float
    most: float


def error(size):
    return Error(size, size)


@dataclass(frozen=True)
class Mistake:
    name: str
    error: Error


@dataclass(frozen=True)
class Generated:
    ids: tuple[int, ...]
    margins: tuple[float, ...]


CLEAR = 2 * CLEAR_MARGIN
VAGUE = CLEAR_MARGIN / 2


@dataclass(frozen=True)
class Measured:
    layer_error: Error = Error(0.0, LAYER_BOUND / 10)
    error: Error = Error(ERROR_BOUND / 10, ERROR_BOUND)
    mistakes: tuple[Mistake, ...] = (Mistake("limit lost", Error(0.2, 0.3)),)
    clamped: float = 0.1
    generated: Generated = field(default=Generated((5, 6, 7), (CLEAR,) * 3))
    expected: Generated = field(default=Generated((5, 6, 7), (CLEAR,) * 3))


GOOD = Measured()


def test_good_numbers_pass():
    assert failures(GOOD) == ()


@pytest.mark.parametrize(
    ("tampered", "says"),
    [
        (replace(GOOD, error=error(2 * ERROR_BOUND)), "logits are off by 0.03"),
        (replace(GOOD, error=error(math.nan)), "logits are off by nan"),
        (replace(GOOD, error=Error(0.0, 2 * MOST_FACTOR * ERROR_BOUND)), "nine of ten tokens: 0.09"),
        (replace(GOOD, layer_error=error(2 * LAYER_BOUND)), "an experts layer is off by 0.002"),
        (replace(GOOD, layer_error=error(math.nan)), "an experts layer is off by nan"),
        (replace(GOOD, mistakes=(Mistake("limit lost", error(2 * ERROR_BOUND)),)), "'limit lost'"),
        (replace(GOOD, mistakes=(Mistake("limit lost", error(math.nan)),)), "'limit lost'"),
        (replace(GOOD, clamped=0.0), "its loss would not show"),
        (replace(GOOD, generated=Generated((5, 9, 7), (CLEAR,) * 3)), "token 2 is 9, the reference has 6"),
    ],
)
def test_each_tampered_number_is_reported(tampered, says):
    (sentence,) = failures(tampered)
    assert says in sentence


def test_a_token_may_differ_where_the_reference_itself_is_undecided():
    undecided = replace(
        GOOD,
        expected=Generated((5, 6, 7), (CLEAR, VAGUE, CLEAR)),
        generated=Generated((5, 9, 1), (CLEAR,) * 3),
    )
    assert failures(undecided) == ()
    assert compared_steps(undecided.generated, undecided.expected) == 1


def test_generation_that_compares_nothing_is_not_a_pass():
    vague = replace(GOOD, expected=Generated((5, 6), (VAGUE, CLEAR)), generated=Generated((9, 6), (VAGUE, CLEAR)))
    (sentence,) = failures(vague)
    assert "proves nothing" in sentence
