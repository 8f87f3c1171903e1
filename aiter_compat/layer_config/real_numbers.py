"""What counts as a number that a caller gave."""

from __future__ import annotations

from numbers import Real


def is_number(value: object) -> bool:
    """Whether `value` is a real number: a tensor would have to be read from its device, and True is a mistake."""
    return isinstance(value, Real) and not isinstance(value, bool)
