"""Environment variables by which AITER itself chooses activation formats, read once here too."""

from __future__ import annotations

import os

from aiter_compat.errors import SettingsError

_read: dict[str, str] = {}


def bound(variable: str | None, default: int) -> int:
    """The number of tokens in AITER's environment `variable`, or `default`.

    Raises:
        SettingsError: the variable does not hold a whole number (AITER itself would fail with ValueError).
    """
    if variable is None:
        return default
    text = _text(variable, str(default))
    try:
        return int(text)
    except ValueError as error:
        raise SettingsError(f"{variable}={text!r} is not allowed: AITER reads a whole number from it.") from error


def switched_on(variable: str) -> bool:
    """Whether AITER's environment `variable` is "1"; to AITER anything else is off."""
    return _text(variable, "0") == "1"


def forget_environment() -> None:
    """Read the variables again on next use."""
    _read.clear()


def _text(variable: str, default: str) -> str:
    """The variable as it was on first use after the last `ac.refresh()`."""
    known = _read.get(variable)
    return known if known is not None else _read.setdefault(variable, os.environ.get(variable, default))
