"""Whether AITER's own function serves a companion's call, and the call.

As for `fused_moe`: under `backend="auto"` AITER serves where the process drives ROCm GPUs, the tensors are there, the
release has the function with the arguments that the call needs, and its import works. Anything else is emulated, with
one warning per cause where an installed AITER was passed over (an error in strict mode, where it works); under
`backend="aiter"` nothing is emulated. What was found is kept until `ac.refresh()`; the function itself is read from its
module at each call, so that a host may replace it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from aiter_compat.companions.names import COMPANIONS, Companion
from aiter_compat.detect import Installation, installation
from aiter_compat.errors import AiterCompatError, InvalidArgument, UnsupportedByAiter
from aiter_compat.probe import Parameter
from aiter_compat.settings import settings
from aiter_compat.symbols import load
from aiter_compat.symbols.finding import installed_symbol
from aiter_compat.warning_types import warn_once

BACKENDS = ("auto", "aiter", "emulation")
_REMEDY = 'backend="auto" or "emulation" computes it in torch.'
_NONE_LEFT_OUT: Mapping[str, Any] = {}


@dataclass(frozen=True)
class NativeFunction:
    """AITER's own function, and how to pass it a call.

    AITER's compiled operators take positions in every release, keywords not in all: so positions, up to the last
    argument that the call gives.

    Attributes:
        module: the module that defines it.
        name: its name there.
        positional: arguments to send by position, in this order.
        keywords: arguments to send by name, which lie behind one that this package does not know.
    """

    module: ModuleType
    name: str
    positional: tuple[str, ...]
    keywords: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function as its module has it now."""
        function = getattr(self.module, self.name)
        return function(
            *(arguments[name] for name in self.positional), **{name: arguments[name] for name in self.keywords}
        )


class _Found:
    """What was resolved for one installation; `ac.refresh()` makes another, with which this is of no use any more."""

    def __init__(self, examined: Installation) -> None:
        self.examined = examined
        self.functions: dict[tuple[object, ...], NativeFunction | None] = {}


_latest: _Found | None = None


def native(
    name: str,
    arguments: Mapping[str, Any],
    device: torch.device,
    backend: str,
    *,
    defaults: Mapping[str, Any] = _NONE_LEFT_OUT,
) -> Callable[[], Any] | None:
    """The call of AITER's own function, or None: emulate.

    Args:
        name: of the companion, a key of `COMPANIONS`.
        arguments: every argument of the call, named as in AITER.
        device: where its tensors are.
        backend: "auto", "aiter" or "emulation".
        defaults: values that mean the same as not sending the argument, which a release may lack then.

    Raises:
        InvalidArgument: `backend` is none of these.
        UnsupportedByAiter: AITER was asked for (or strict mode is on) and this release lacks what the call needs.
        AiterImportError: AITER was asked for and is absent, or fails to import.
        ContractChanged: AITER was asked for and its function is another one under the same name.
    """
    if backend not in BACKENDS:
        raise InvalidArgument("backend", backend, ", ".join(BACKENDS))
    if backend == "emulation" or (backend == "auto" and torch.version.hip is None):
        return None
    given = tuple(key for key, value in arguments.items() if key not in defaults or not _is(value, defaults[key]))
    function = _native_function(name, given, tuple(arguments), device.type, backend)
    return None if function is None else lambda: function(arguments)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]  # torch leaves it untyped
def _native_function(
    name: str, given: tuple[str, ...], known: tuple[str, ...], device_type: str, backend: str
) -> NativeFunction | None:
    """AITER's function for a call that gives these arguments, or None; see `native`."""
    global _latest  # noqa: PLW0603 - the one piece of state of this module
    examined = installation()
    found = _latest
    if found is None or found.examined is not examined:
        found = _latest = _Found(examined)
    key = (name, given, device_type, backend)
    if key not in found.functions:
        found.functions[key] = _decide(COMPANIONS[name], given, known, device_type, backend)
    return found.functions[key]


def _decide(
    companion: Companion, given: tuple[str, ...], known: tuple[str, ...], device_type: str, backend: str
) -> NativeFunction | None:
    if backend == "auto" and (not _is_there(companion, device_type) or installation().kind != "present"):
        return None
    try:
        return _resolve(companion, given, known)
    except AiterCompatError as error:
        usable = error.__cause__ is None  # an import that failed is a cause
        if backend == "aiter" or (settings().strict and usable):
            raise
        if not companion.same_everywhere:
            cause = f"companion:{companion.name}:{error}"
            warn_once(cause, f"{companion.name} is computed in torch. {error}", stacklevel=5)
        return None


def _is_there(companion: Companion, device_type: str) -> bool:
    """Whether AITER's function takes tensors of this device, in a process that drives ROCm GPUs."""
    return companion.on_any_device or device_type == "cuda"


def _resolve(companion: Companion, given: tuple[str, ...], known: tuple[str, ...]) -> NativeFunction:
    found = installed_symbol(companion.symbol)
    parameters = None if found is None else found.parameters
    if found is not None and parameters is not None:
        refused = _against(parameters, given)
        if refused:
            raise UnsupportedByAiter([f"{found.path} of {installation()} {refused}"], _REMEDY)
    load(companion.symbol)  # raises where there is no AITER, no such symbol, or another one under its name
    path = companion.symbol if found is None else found.path
    module, _, name = path.rpartition(".")
    return NativeFunction(sys.modules[module], name, *_places(parameters, given, known))


def _places(
    parameters: tuple[Parameter, ...] | None, given: tuple[str, ...], known: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments to send by position, and those to send by name."""
    if parameters is None:
        return given, ()
    positional: list[str] = []
    waiting = set(given)
    for parameter in parameters:
        if not waiting or parameter.name not in known:
            break
        positional.append(parameter.name)
        waiting.discard(parameter.name)
    return tuple(positional), tuple(name for name in given if name in waiting)


def _against(parameters: tuple[Parameter, ...], given: tuple[str, ...]) -> str | None:
    """Why a signature cannot take these arguments, or None."""
    names = {parameter.name for parameter in parameters}
    if not any(parameter.kind == "var_keyword" for parameter in parameters):
        lacking = [name for name in given if name not in names]
        if lacking:
            return f"has no {', '.join(lacking)}"
    asked = [
        parameter.name
        for parameter in parameters
        if parameter.default is None
        and parameter.kind in ("positional_only", "positional_or_keyword", "keyword_only")
        and parameter.name not in given
    ]
    return f"also needs {', '.join(asked)}" if asked else None


def _is(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return not isinstance(value, torch.Tensor) and type(value) is type(default) and bool(value == default)
