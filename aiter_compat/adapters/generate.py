"""Generate the function that forwards `NativeArguments` to a `fused_moe` of a given signature.

Forwarding positionally costs a fifth of forwarding by keyword, and the positional order changed twice (v0.1.5,
v0.1.19), so the code is generated from the signature that was read from the installed files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from aiter_compat.adapters.arguments import ARGUMENTS, OPERANDS, NativeArguments
from aiter_compat.errors import UnsupportedByAiter
from aiter_compat.probe import Parameter

Adapter = Callable[[Callable[..., Any], NativeArguments], Any]

_REMEDY = "Upgrade aiter_compat, or use the emulation."


@functools.lru_cache(maxsize=64)
def adapter_for(parameters: tuple[Parameter, ...]) -> Adapter:
    """The adapter for a `fused_moe` with these parameters.

    Raises:
        UnsupportedByAiter: it requires a parameter that no recorded release has, so nothing is known to send; or the
            signature names no place for an operand (a decorated function that takes `*args, **kwargs`).
    """
    namespace: dict[str, Any] = {}
    code = compile(adapter_source(parameters), "<aiter_compat adapter>", "exec")
    exec(code, namespace)  # noqa: S102 - the source holds parameter names from ARGUMENTS only
    adapter: Adapter = namespace["adapter"]
    return adapter


def adapter_source(parameters: tuple[Parameter, ...]) -> str:
    """Source text of the adapter, for people and tests."""
    forwarded = [f"{name}=a.{name}" if by_keyword else f"a.{name}" for name, by_keyword in sent(parameters)]
    return (
        "def adapter(native, a):\n"
        "    if a.extra:\n"
        f"        return native({', '.join([*forwarded, '**a.extra'])})\n"
        f"    return native({', '.join(forwarded)})\n"
    )


def sent(parameters: tuple[Parameter, ...]) -> tuple[tuple[str, bool], ...]:
    """What a `fused_moe` with these parameters is sent, in order: the name, and whether it goes by keyword.

    Raises:
        UnsupportedByAiter: as `adapter_for`.
    """
    names = {parameter.name for parameter in parameters}
    absent = [name for name in OPERANDS if name not in names]
    if absent:
        raise UnsupportedByAiter([f"its fused_moe has no parameter {' and no '.join(absent)}"], _REMEDY)
    forwarded: list[tuple[str, bool]] = []
    by_keyword = False
    for parameter in parameters:
        if parameter.kind in ("var_positional", "var_keyword"):
            by_keyword = True
        elif parameter.kind == "positional_only" and (by_keyword or parameter.name not in ARGUMENTS):
            if parameter.default is None:
                raise UnsupportedByAiter([f"its fused_moe requires {parameter.name!r} by position"], _REMEDY)
            by_keyword = True  # neither it nor what follows it can be reached by position
        elif parameter.name in ARGUMENTS:
            by_keyword = by_keyword or parameter.kind == "keyword_only"
            forwarded.append((parameter.name, by_keyword))
        elif parameter.default is None:
            raise UnsupportedByAiter(
                [f"its fused_moe requires {parameter.name!r}, which no recorded release has"], _REMEDY
            )
        else:
            by_keyword = True
    return tuple(forwarded)


def without_own_defaults(parameters: tuple[Parameter, ...], arguments: NativeArguments) -> tuple[tuple[str, bool], ...]:
    """As `sent`, less what ends the list and is what the function takes by default anyway."""
    defaults = {parameter.name: parameter.default for parameter in parameters}
    kept = list(sent(parameters))
    while kept and _says(defaults[kept[-1][0]], getattr(arguments, kept[-1][0])):
        kept.pop()
    return tuple(kept)


def _says(default: str | None, value: object) -> bool:
    """Whether the source text of a default says this very value; asked of plain values only, never of a tensor."""
    return (value is None or isinstance(value, (bool, int, float, str))) and default == repr(value)
