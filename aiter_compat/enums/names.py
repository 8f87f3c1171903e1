"""Canonical lower-case names for activations, quant types and gate modes, from whatever a caller passes.

A caller may pass AITER's enum member, a twin, a name in any case, or the integer value. None of this imports AITER:
integers are looked up in the enum members that the installed files (else the newest record) state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from aiter_compat.enums.resolve import ENUM_NAMES, members_of
from aiter_compat.errors import InvalidArgument

# canonical name -> member name in AITER; None: AITER has no such member, emulation only
ACTIVATIONS: Mapping[str, str | None] = {
    "silu": "Silu",
    "gelu": "Gelu",
    "gelu_tanh": "GeluTanh",
    "swiglu": "Swiglu",
    "situv2": "Situv2",
    "swiglustep": None,
    "relu2": None,
}
QUANT_TYPES: Mapping[str, str | None] = {
    "no": "No",
    "per_tensor": "per_Tensor",
    "per_token": "per_Token",
    "per_1x32": "per_1x32",
    "per_1x128": "per_1x128",
    "per_128x128": "per_128x128",
    "per_256x128": "per_256x128",
    "per_1024x128": "per_1024x128",
}
GATE_MODES = ("separated", "interleave", "mock_gate_only", "gate_only")


def _keys(table: Mapping[str, str | None]) -> dict[str, str]:
    return {name.replace("_", ""): name for name in table}


_ACTIVATION_KEYS = _keys(ACTIVATIONS)
_QUANT_TYPE_KEYS = _keys(QUANT_TYPES)


def activation_name(value: object, argument: str = "activation") -> str:
    """Canonical name of an activation, such as "swiglu" for `ActivationType.Swiglu`, "SwiGLU" or 2.

    Raises:
        InvalidArgument: it is none that aiter_compat knows.
    """
    return _canonical(argument, value, "ActivationType", _ACTIVATION_KEYS)


def quant_type_name(value: object, argument: str = "quant_type") -> str:
    """Canonical name of a quant type, such as "per_1x32" for `QuantType.per_1x32`, "PER_1X32" or 3.

    Raises:
        InvalidArgument: it is none that aiter_compat knows.
    """
    return _canonical(argument, value, "QuantType", _QUANT_TYPE_KEYS)


def gate_mode_name(value: object, argument: str = "gate_mode") -> str:
    """Canonical gate mode: the string that AITER's `fused_moe` takes; None means "separated" on every release.

    Raises:
        InvalidArgument: it is no gate mode.
    """
    if value is None:
        return "separated"
    text = value.value if isinstance(value, Enum) else value
    if isinstance(text, str) and text.lower() in GATE_MODES:
        return text.lower()
    raise InvalidArgument(argument, value, f"None, {', '.join(GATE_MODES)} or a member of ac.GateMode")


def _canonical(argument: str, value: object, enum_name: str, keys: Mapping[str, str]) -> str:
    for text in _texts(value, enum_name):
        name = keys.get(text.lower().replace("_", "").replace("-", ""))
        if name is not None:
            return name
    allowed = f"{', '.join(keys.values())}, a member of ac.{enum_name}, or its integer value"
    raise InvalidArgument(argument, value, allowed)


def _texts(value: object, enum_name: str) -> Iterator[str]:
    """Names that the value may mean: of an enum member its own first, then that of its integer in AITER's enum.

    vLLM and others have integer enums whose values are AITER's and whose names are their own.
    """
    if isinstance(value, str):
        yield value.value if isinstance(value, Enum) else value
        return
    kind = type(value)
    if hasattr(kind, "__members__"):
        if kind.__name__ in ENUM_NAMES and kind.__name__ != enum_name:
            return  # a member of another enum of AITER's, which may have the same name
        yield str(getattr(value, "name", ""))
    if isinstance(value, int) and not isinstance(value, bool):
        yield from (name for name, number in members_of(enum_name).items() if number == value)
