"""Environment variables of aiter_compat, read once; a value that is not allowed is an error.

`ac.refresh()` reads them again; nothing else does, and no call does. A host that changes one while it runs calls it.

| variable | values | meaning |
|---|---|---|
| `AITER_COMPAT_STRICT` | 0, 1 | 1: raise `UnsupportedByAiter` instead of falling back from a usable AITER |
| `AITER_COMPAT_CHECKS` | off, metadata, debug | how much of a call is validated; debug also reads values |
| `AITER_COMPAT_DECODED_WEIGHTS_MIB` | whole number | memory for weights kept decoded between calls on a CPU; 0: none |

`AITER_COMPAT_CHECKS`: a call is validated and decided when the first of its kind comes, and what was found serves the
next ones.

* metadata: a call is of the same kind when every argument is the same in type and value and every tensor in type,
  shape (but for the number of tokens), dtype and device, which are read at each call. So whatever does not fit is
  refused each time it comes.
* off: a layer is known by the object that is its `w1` (`weights` in `fused_experts`). From a layer's second call on
  only the other arguments are compared, and the dtypes of what is routed are read. Other weights, scales and biases
  with the same `w1`, a tensor whose shape, dtype, device or `is_shuffled` mark was changed in place, or tokens on
  another device than the layer, are not noticed: call `ac.refresh()` after such a change. What does not fit is sent as
  it is, so the error is AITER's or torch's own and no `AiterCompatError`; what cannot be understood at all (an unknown
  name) is always ours.
* debug: every call is validated anew, values included.
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
_DECODED_WEIGHTS = "AITER_COMPAT_DECODED_WEIGHTS_MIB"
_BOOLEANS = {"0": False, "1": True}
_CHECK_LEVELS = ("off", "metadata", "debug")


@dataclass(frozen=True)
class Settings:
    """What the environment asked for.

    Attributes:
        strict: refuse a call that a usable AITER cannot express, rather than emulate it.
        checks: "off", "metadata" (shapes, dtypes, devices) or "debug" (values too; synchronises a GPU).
        decoded_weights_mib: MiB that the emulation's torch path may take for weights it keeps decoded between calls on
            a CPU, where the compiled path does not serve; 0 keeps none.
    """

    strict: bool = False
    checks: Checks = "metadata"
    decoded_weights_mib: int = 0

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
        mebibytes = env.get(_DECODED_WEIGHTS, "0").strip()
        if not (mebibytes.isascii() and mebibytes.isdigit()):
            raise SettingsError(
                f"{_DECODED_WEIGHTS}={mebibytes!r} is not allowed: use a whole number of MiB, 0 to keep no weights."
            )
        return cls(strict=_BOOLEANS[strict], checks=cast(Checks, checks), decoded_weights_mib=int(mebibytes))


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
