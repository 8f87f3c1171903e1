"""What fails, or goes wrong, when AITER is called directly, and must not through aiter_compat.

Each trap says on which releases it is set. That is tried out on the release at hand as well, so that none stays on the
list that AITER has taken away.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from packaging.version import Version
from torch._subclasses import FakeTensorMode

import aiter_compat as ac
from aiter_compat.releases import ReleaseRange
from conformance.calls import HIDDEN, TOKENS, Call, calls

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Aiter:
    """The imported AITER: its module `aiter.fused_moe`, the package and the release."""

    moe: ModuleType
    package: ModuleType
    release: Version

    @property
    def keywords(self) -> tuple[str, ...]:
        """Names of the function's parameters, in order."""
        return tuple(inspect.signature(self.moe.fused_moe).parameters)

    def native(self, arguments: Arguments, **members: Any) -> torch.Tensor:
        """AITER's own function, with members of its own enums unless others are given."""
        named = {"activation": self.package.ActivationType.Silu, "quant_type": self.package.QuantType.No, **members}
        kept = {name: value for name, value in arguments.items() if name not in (*named, "weight_layout")}
        result: torch.Tensor = self.moe.fused_moe(**kept, **named)
        return result


@dataclass(frozen=True)
class Trap:
    """One trap.

    Attributes:
        name: what it is.
        set_on: releases on which it is set.
        springs: whether a direct call goes wrong, tried out.
        avoided: whether the call through aiter_compat does what was asked for.
    """

    name: str
    set_on: ReleaseRange
    springs: Callable[[Aiter], bool]
    avoided: Callable[[Aiter], bool]


def check(installed: Aiter) -> Iterator[tuple[str, list[str]]]:
    """Name of each trap, and what is at fault with it on this release."""
    for kind, trap in zip(trap_kinds(), _TRAPS, strict=True):
        faults = []
        if trap.springs(installed) != trap.set_on.contains(installed.release):
            faults.append(f"it is set or not, against {trap.set_on}")
        if not trap.avoided(installed):
            faults.append("aiter_compat walks into it")
        yield kind, faults


def trap_kinds() -> tuple[str, ...]:
    """What `check` calls the traps, in its order."""
    return tuple(f"trap: {trap.name}" for trap in _TRAPS)


def _call_of(kind: str) -> Call:
    return next(call for call in calls() if call.kind == kind)


def _fails(installed: Aiter, error: type[Exception], changes: Arguments, kind: str = "silu, unquantised") -> bool:
    """Whether a direct call raises that error, and nothing else."""
    members = {name: value for name, value in changes.items() if name in ("activation", "quant_type")}
    try:
        installed.native({**_call_of(kind).arguments, **changes}, **members)
    except error:
        return True
    return False


def _served(**changes: Any) -> bool:
    arguments = {**_call_of("silu, unquantised").arguments, **changes}
    return ac.fused_moe(**arguments, backend="aiter").shape == (TOKENS, HIDDEN)


def _refused(**changes: Any) -> bool:
    try:
        _served(**changes)
    except ac.InvalidArgument:
        return True
    return False


class _Whole:
    """A whole number that is no int, as numpy's are."""

    def __index__(self) -> int:
        return 64


def _fake(kind: str) -> tuple[FakeTensorMode, dict[str, Any]]:
    mode = FakeTensorMode()
    arguments = _call_of(kind).arguments
    return mode, {
        name: mode.from_tensor(value) if isinstance(value, torch.Tensor) else value for name, value in arguments.items()
    }


def _interleave_fails_while_tracing(installed: Aiter) -> bool:
    if "gate_mode" not in installed.keywords:
        return False
    mode, arguments = _fake("swiglu, MXFP4 interleaved")
    try:
        with mode:
            installed.native(arguments)
    except TypeError:
        return True
    return False


def _traces(_: Aiter) -> bool:
    mode, arguments = _fake("swiglu, MXFP4 interleaved")
    with mode:
        return tuple(ac.fused_moe(**arguments, backend="aiter").shape) == (TOKENS, HIDDEN)


def _gate_mode_moved(installed: Aiter) -> bool:
    """Whether what stood at the gate mode's first position is something else."""
    return "gate_mode" in installed.keywords and installed.keywords.index("gate_mode") != 23


def _replacement_runs(installed: Aiter) -> bool:
    original, seen = installed.moe.fused_moe, []

    def replacement(*given: Any, **named: Any) -> Any:
        seen.append(True)
        return original(*given, **named)

    installed.moe.fused_moe = replacement
    try:
        return _served() and len(seen) == 1
    finally:
        installed.moe.fused_moe = original


_EVERY = ReleaseRange(None, None)
_TRAPS = (
    Trap(
        "swiglu_limit=None is refused by the operator",
        ReleaseRange("0.1.14", "0.1.17"),
        lambda installed: (
            "swiglu_limit" in installed.keywords and _fails(installed, RuntimeError, {"swiglu_limit": None})
        ),
        lambda _: all(_served(swiglu_limit=limit) for limit in (None, 0.0, math.inf)),
    ),
    Trap(
        "pads must be ints",
        _EVERY,
        lambda installed: _fails(installed, RuntimeError, {"intermediate_pad": 64.0}),
        lambda _: _served(intermediate_pad=_Whole()) and _refused(intermediate_pad=64.0),
    ),
    Trap(
        "activation and quant_type must be members, not ints",
        _EVERY,
        lambda installed: _fails(installed, AttributeError, {"activation": 0, "quant_type": 0}),
        lambda _: _served(activation=1, quant_type=0),
    ),
    Trap(
        "interleave fails under fake tensors",
        ReleaseRange("0.1.19", "0.1.20"),
        _interleave_fails_while_tracing,
        _traces,
    ),
    Trap(
        "gate_mode moved to another position",
        ReleaseRange("0.1.19", None),
        _gate_mode_moved,
        lambda _: _served(gate_mode="separated"),
    ),
    Trap(
        "fused_moe is replaced at run time",
        _EVERY,
        lambda _: True,  # SGLang 0.5.23 does it, not AITER
        _replacement_runs,
    ),
)
