"""What the demo prints: plain text, one screen for each model."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from aiter_compat.demo.verdict import (
    ERROR_BOUND,
    LAYER_BOUND,
    compared_steps,
    told_apart,
    within_bound,
    within_layer_bound,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiter_compat.demo.host_models import HostModel
    from aiter_compat.demo.measure import Measurement, Mistake, TokenError

_WIDTH = 100
_LABEL = 13
_ERROR_HEADING = f"{'relative L2 error, token by token':<51}{'median':>9}{'9 of 10':>9}{'worst':>9}"


def row(label: str, text: str) -> str:
    """A labelled paragraph, wrapped to the width of the screen; line breaks of `text` are kept."""
    lines = [
        part
        for line in text.splitlines()
        for part in textwrap.wrap(line, _WIDTH - _LABEL, subsequent_indent="  ") or [""]
    ]
    return "\n".join(
        f"{name:<{_LABEL}}{line}".rstrip() for name, line in zip([label, *[""] * (len(lines) - 1)], lines, strict=True)
    )


def screen(
    host: HostModel,
    measured: Measurement,
    failures: Sequence[str],
    *,
    heading: str,
    text: str,
    seconds: float,
) -> str:
    """The screen of one model.

    Args:
        host: the model.
        measured: what was measured.
        failures: of `verdict.failures`.
        heading: such as "1/3".
        text: the generated tokens, decoded and quoted.
        seconds: all that this model took.
    """
    generated, expected = measured.generated, measured.expected
    steps = compared_steps(generated, expected)
    return "\n".join(
        [
            f"-- {heading}  {host.title} ".ljust(_WIDTH, "-"),
            row("checkpoint", host.about),
            row("formats", f"{measured.formats}; {measured.layers} experts layers quantised"),
            row("decision", measured.decision),
            row(
                "prompt",
                f"{measured.prompt_tokens} tokens, the last {measured.compared_tokens} compared; "
                f"the limit clamps {measured.clamped:.0%} of gate and up values",
            ),
            "",
            _ERROR_HEADING,
            _error_row(
                "experts layers alone, same input",
                measured.layer_error,
                _bound(LAYER_BOUND, within_layer_bound(measured.layer_error)),
            ),
            _error_row("logits", measured.error, _bound(ERROR_BOUND, within_bound(measured.error))),
            *(_error_row(f"logits {each.name}", each.error, _distance(each)) for each in measured.mistakes),
            "",
            row("tokens", f"{' '.join(map(str, generated.ids))}  {text}"),
            row("", f"{steps} of {len(expected.ids)} steps compared with the reference's greedy choice"),
            row(
                "time",
                f"quantise {measured.quantise_seconds:.2f} s, prefill {measured.prefill_seconds:.2f} s, "
                f"{len(generated.ids)} tokens {generated.seconds:.2f} s; with the reference {seconds:.1f} s",
            ),
            row("verdict", "right" if not failures else "OFF: " + "; ".join(failures)),
            "",
        ]
    )


def _error_row(name: str, error: TokenError, remark: str) -> str:
    numbers = "".join(
        f"{number:>9.1e}" if number else f"{'0':>9}" for number in (error.median, error.most, error.worst)
    )
    return f"  {name:<49}{numbers}   {remark}"


def _bound(bound: float, kept: bool) -> str:
    return f"{'bound' if kept else 'ABOVE THE BOUND'} {bound:g}"


def _distance(mistake: Mistake) -> str:
    times = f"{mistake.error.median / ERROR_BOUND:.1f} x the bound"
    return times if told_apart(mistake) else f"NOT TOLD APART ({times})"
