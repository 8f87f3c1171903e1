"""The one warning class, issued once per cause."""

from __future__ import annotations

import threading
import warnings


class AiterCompatWarning(UserWarning):
    """Base class of every warning issued by aiter_compat."""

    __module__ = "aiter_compat"


_seen: set[str] = set()
_lock = threading.Lock()


def warn_once(cause: str, message: str, *, stacklevel: int = 2) -> None:
    """Warn about `cause` the first time it occurs in this process; `ac.refresh()` forgets what was said.

    Args:
        cause: key of the cause; the same key is silent afterwards.
        message: what a person reads.
        stacklevel: as in `warnings.warn`, counted from the caller of this function.
    """
    with _lock:
        if cause in _seen:
            return
        _seen.add(cause)
    warnings.warn(message, AiterCompatWarning, stacklevel=stacklevel + 1)


def forget_warnings() -> None:
    """Make every cause speak again."""
    with _lock:
        _seen.clear()
