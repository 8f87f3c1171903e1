"""Stand-ins for AITER's enums with the same member names, values and behaviour.

`ActivationType` and `QuantType` are pybind11 enums in AITER (aiter/ops/enum.py builds them from a compiled module): no
equality with integers, any integer accepted by the constructor, not iterable. `GateMode` is a `str` enum
(v0.1.14, aiter/ops/flydsl/moe_common.py). A twin behaves alike, so that code written against it runs on AITER.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any


class TwinEnum:
    """Base class of the pybind-like twins; every member is an instance of its own subclass.

    Raises:
        TypeError: the constructor got something that is not an integer.
    """

    __members__: Mapping[str, TwinEnum] = MappingProxyType({})

    def __init__(self, value: int) -> None:
        if not hasattr(type(value), "__index__"):
            raise TypeError(f"{type(self).__name__}(value: int): got {value!r}")
        self._value = int(value)

    @property
    def value(self) -> int:
        """The integer that AITER's kernels receive."""
        return self._value

    @property
    def name(self) -> str:
        """The member's name; "???" for an integer that no member has, as in pybind11."""
        for name, member in type(self).__members__.items():
            if member._value == self._value:
                return name
        return "???"

    def __int__(self) -> int:
        return self._value

    def __index__(self) -> int:
        return self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._value == self._value

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self._value}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_member, (type(self).__name__, self._value)


def rebuild_member(enum_name: str, value: int) -> object:
    """Restore a pickled member as a member of the class that serves this process."""
    from aiter_compat.enums.resolve import enum_class

    return enum_class(enum_name)(value)


# Kept for the life of the process, so that a member which a host took before `ac.refresh()` still equals the same
# member afterwards, and still pickles.
_made: dict[tuple[str, tuple[tuple[str, int | str], ...]], Any] = {}


def pybind_twin(name: str, members: Mapping[str, int | str]) -> type[TwinEnum]:
    """The pybind-like enum class `name` with these members; the same members give the same class."""
    key = name, tuple(members.items())
    twin: type[TwinEnum] = _made[key] if key in _made else _made.setdefault(key, _pybind_twin(name, members))
    return twin


def gate_mode_twin(members: Mapping[str, int | str]) -> type[Enum]:
    """The `str` enum class GateMode with these members, picklable as `aiter_compat.GateMode`; made once, too."""
    key = "GateMode", tuple(members.items())
    twin: type[Enum] = _made[key] if key in _made else _made.setdefault(key, _gate_mode_twin(members))
    return twin


def _pybind_twin(name: str, members: Mapping[str, int | str]) -> type[TwinEnum]:
    namespace = {"__module__": "aiter_compat", "__doc__": f"Twin of AITER's {name}."}
    twin: type[TwinEnum] = type(name, (TwinEnum,), namespace)
    table = {member: twin(int(value)) for member, value in members.items()}
    for member, instance in table.items():
        setattr(twin, member, instance)
    twin.__members__ = MappingProxyType(table)
    return twin


def _gate_mode_twin(members: Mapping[str, int | str]) -> type[Enum]:
    table = {key: str(value) for key, value in members.items()}
    twin: type[Enum] = Enum("GateMode", table, type=str, module="aiter_compat")  # type: ignore[misc]  # dynamic on purpose
    twin.__doc__ = "Twin of AITER's GateMode."
    return twin
