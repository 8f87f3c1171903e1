"""Enum classes that behave as `pybind11::enum_` does, not as `enum.Enum` does.

No equality with ints, no lookup by name, no iteration, and any int makes an instance: one that is no member calls
itself "???".
"""

import operator


class _PybindEnum:
    """What every made class inherits; `make_enum` gives each its own `__members__`."""

    def __init__(self, value):
        try:
            self._value = operator.index(value)
        except TypeError:
            name = type(self).__name__
            raise TypeError(
                f"__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                f"    1. {type(self).__module__}.{name}(value: int)\n\nInvoked with: {value!r}"
            ) from None

    @property
    def value(self):
        return self._value

    @property
    def name(self):
        for name, member in type(self).__members__.items():
            if member._value == self._value:
                return name
        return "???"

    def __int__(self):
        return self._value

    __index__ = __int__

    def __hash__(self):
        return self._value

    def __eq__(self, other):
        return type(self) is type(other) and self._value == other._value

    def __ne__(self, other):
        return not self == other

    def __repr__(self):
        return f"<{type(self).__name__}.{self.name}: {self._value}>"

    def __str__(self):
        return f"{type(self).__name__}.{self.name}"

    def __reduce__(self):
        return type(self), (self._value,)


def make_enum(module, name, members):
    """A class called `name` with one class attribute per member of `members` (name -> int)."""
    made = type(name, (_PybindEnum,), {"__module__": module, "__members__": {}})
    for member, value in members.items():
        instance = made(value)
        made.__members__[member] = instance
        setattr(made, member, instance)
    return made
