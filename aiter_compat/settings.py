"""Environment variables of aiter_compat, read once; a value that is not allowed is an error.

| variable | values | meaning |
|---|---|---|
| `AITER_COMPAT_STRICT` | 0, 1 | 1: raise `UnsupportedByAiter` instead of falling back from a usable AITER |
| `AITER_COMPAT_CHECKS` | off, metadata, debug | how much of a call is validated; debug also reads values |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from aiter_compat.errors import SettingsError

Checks = Literal["off", "metadata", "debug"]

_STRICT = "AITER_COMPAT_STRICT"
_CHECKS = "AITER_COMPAT_CHECKS"
_BOOLEANS = {"0": False, "1": True}
_CHECK_LEVELS = ("off", "metadata", "debug")


@dataclass(frozen=True)
class Settings:
    """What the environment asked for.

    Attributes:
        strict: refuse a call that a usable AITER cannot express, rather than emulate it.
        checks: "off", "metadata" (shapes, dtypes, devices) or "debug" (values too; synchronises a GPU).
    """

    strict: bool = False
    checks: Checks = "metadata"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the variables.

        Raises:
            SettingsError: a variable holds a value that is not allowed.
        """
        env = os.environ if environ is None else environ
        strict = env.get(_STRICT, "0").strip()
        if strict not in _BOOLEANS:
            raise SettingsError(f"{_STRICT}={strict!r} is not allowed: use 0 or 1.")
        checks = env.get(_CHECKS, "metadata").strip().lower()
        if checks not in _CHECK_LEVELS:
            raise SettingsError(f"{_CHECKS}={checks!r} is not allowed: use one of {', '.join(_CHECK_LEVELS)}.")
        return cls(strict=_BOOLEANS[strict], checks=cast(Checks, checks))


_current: Settings | None = None


def settings() -> Settings:
    """The settings of this process, read from the environment on first use and after `ac.refresh()`."""
    global _current  # noqa: PLW0603
    current = _current
    if current is None:
        current = _current = Settings.from_environment()
    return current


def forget_settings() -> None:
    """Read the environment again on next use."""
    global _current  # noqa: PLW0603
    _current = None
