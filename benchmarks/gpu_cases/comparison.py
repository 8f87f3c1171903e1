"""One call by a path, held against fp64 and against the torch path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import torch

from aiter_compat.backends.emulation import EmulationRequest, run
from aiter_compat.errors import UnsupportedByEmulation
from benchmarks.gpu_cases.fp64_reference import moe_fp64
from benchmarks.gpu_cases.small_layers import Case

Path: TypeAlias = Callable[[EmulationRequest], torch.Tensor]

_Result = TypeVar("_Result")

LIMIT = 2.5e-3
"""Largest relative error against fp64, and difference to the torch path: rounding to bf16 alone is 1.7e-3."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes:
        label: of the case.
        to_fp64: relative error, None where fp64 was not asked.
        to_torch: relative difference to the torch path.
        problem: why the case fails, None where it passes.
        refused: the path's reason for not serving the call.
    """

    label: str
    to_fp64: float | None = None
    to_torch: float | None = None
    problem: str | None = None
    refused: str | None = None


def compare(case: Case, path: Path) -> Outcome:
    """Run a case. An error of the path is an outcome too."""
    result = guarded(case.label, lambda: path(case.request))
    if isinstance(result, Outcome):
        return result
    expected = run(case.request)
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return Outcome(
            case.label,
            problem=f"{tuple(result.shape)} {result.dtype} for {tuple(expected.shape)} {expected.dtype}",
        )
    finite = expected.isfinite()
    if not torch.equal(torch.isnan(result), torch.isnan(expected)) or not torch.equal(result.isfinite(), finite):
        wrong = int((torch.isnan(result) != torch.isnan(expected)).sum() + (result.isfinite() != finite).sum())
        return Outcome(case.label, problem=f"{wrong} elements differ in being finite, Inf or NaN")
    if case.finite and not finite.all():
        return Outcome(case.label, problem="the torch path gave Inf or NaN in a case that was meant to be finite")
    to_torch = relative_difference(result[finite], expected[finite])
    to_fp64 = relative_difference(result, moe_fp64(case.request)) if case.finite else None
    worst = max(to_torch, to_fp64 or 0.0)
    return Outcome(case.label, to_fp64, to_torch, None if worst <= LIMIT else f"{worst:.2e} is more than {LIMIT:.1e}")


def outcome_of(label: str, find_problem: Callable[[], str | None]) -> Outcome:
    """What comes of a case that looks for its problem itself."""
    return guarded(label, lambda: Outcome(label, problem=find_problem()))


def guarded(label: str, look: Callable[[], _Result]) -> _Result | Outcome:
    """What comes of a case, or of a part of it, which may raise."""
    try:
        return look()
    except UnsupportedByEmulation as refusal:
        return Outcome(label, refused=str(refusal))
    except Exception as error:  # noqa: BLE001 - one case that fails must not stop the others
        return Outcome(label, problem=f"{type(error).__name__}: {error}")


def relative_difference(result: torch.Tensor, expected: torch.Tensor) -> float:
    """Norm of the difference by the norm of what is expected; infinite for a result that should be 0 and is not."""
    difference, size = (result.double() - expected.double()).norm(), expected.double().norm()
    if size == 0:
        return 0.0 if difference == 0 else float("inf")
    return float(difference / size)
