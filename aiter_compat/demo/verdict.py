"""Whether a measurement is good enough: stated bounds, and the sentence for each one that is broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

LAYER_BOUND = 1e-3
"""Relative L2 error that an experts layer may have at nine of ten tokens, given the reference's input."""

ERROR_BOUND = 0.015
"""Relative L2 error that the logits of the median token may have.

Sums in float32 round to bfloat16 seldom otherwise than the reference's float64 sums do. But where they do, the next
QDQ may carry it to a whole step, and attention to every later token: noise of 1e-6 in the activations ends as up to
0.007 in the logits.
"""

MOST_FACTOR = 3.0
"""How many times the bound nine of ten tokens may be off; the last one may have been sent to another expert."""

MISTAKE_FACTOR = 3.0
"""How many times worse than the bound the median of a mistake has to be to count as told apart."""

CLAMPED_SHARE = 0.01
"""Share of values that the limit has to touch for its loss to be visible at all."""

CLEAR_MARGIN = 0.125
"""Lead of the best logit from which the greedy token may not differ (logits here have a deviation of 1)."""


class _Error(Protocol):
    @property
    def median(self) -> float: ...
    @property
    def most(self) -> float: ...


class _Mistake(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def error(self) -> _Error: ...


class _Generated(Protocol):
    @property
    def ids(self) -> tuple[int, ...]: ...
    @property
    def margins(self) -> tuple[float, ...]: ...


class _Measurement(Protocol):
    @property
    def layer_error(self) -> _Error: ...
    @property
    def error(self) -> _Error: ...
    @property
    def mistakes(self) -> Sequence[_Mistake]: ...
    @property
    def clamped(self) -> float: ...
    @property
    def generated(self) -> _Generated: ...
    @property
    def expected(self) -> _Generated: ...


def within_layer_bound(error: _Error) -> bool:
    """Whether an experts layer is right; NaN is not."""
    return error.most <= LAYER_BOUND


def within_bound(error: _Error) -> bool:
    """Whether logits are right; NaN is not."""
    return error.median <= ERROR_BOUND and error.most <= MOST_FACTOR * ERROR_BOUND


def told_apart(mistake: _Mistake) -> bool:
    """Whether a mistake is clearly worse than anything that passes for right."""
    return mistake.error.median >= MISTAKE_FACTOR * ERROR_BOUND


def failures(measured: _Measurement) -> tuple[str, ...]:
    """One sentence for each thing that is off; empty when the numbers are right. A NaN is always off."""
    found = []
    if not within_layer_bound(measured.layer_error):
        found.append(f"an experts layer is off by {measured.layer_error.most:.3g}, more than {LAYER_BOUND:g}")
    if not within_bound(measured.error):
        found.append(
            f"logits are off by {measured.error.median:.3g} (nine of ten tokens: {measured.error.most:.3g}), "
            f"more than {ERROR_BOUND:g} ({MOST_FACTOR * ERROR_BOUND:g})"
        )
    for mistake in measured.mistakes:
        if not told_apart(mistake):
            found.append(f"{mistake.name!r} makes an error of only {mistake.error.median:.3g}: the test is blind to it")
    if not measured.clamped >= CLAMPED_SHARE:
        found.append(f"the limit touches only {measured.clamped:.2%} of the values: its loss would not show")
    found.extend(_token_failures(measured.generated, measured.expected))
    return tuple(found)


def compared_steps(generated: _Generated, expected: _Generated) -> int:
    """Steps from the first on at which the tokens agree, or differ although the reference was clear."""
    steps = 0
    for ours, theirs, margin in zip(generated.ids, expected.ids, expected.margins, strict=True):
        if ours != theirs:
            # From here on the two continue different texts; an unclear step may go either way.
            return steps + (margin >= CLEAR_MARGIN)
        steps += 1
    return steps


def _token_failures(generated: _Generated, expected: _Generated) -> list[str]:
    steps = compared_steps(generated, expected)
    if steps == 0:
        return ["the reference has no clear first token, so generation proves nothing: try another prompt"]
    last = steps - 1
    if generated.ids[last] == expected.ids[last]:
        return []
    return [
        f"token {steps} is {generated.ids[last]}, the reference has {expected.ids[last]} "
        f"with a clear lead of {expected.margins[last]:.3f}"
    ]
