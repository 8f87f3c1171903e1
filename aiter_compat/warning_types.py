"""The one warning class, issued once per cause."""

from __future__ import annotations

import warnings


class AiterCompatWarning(UserWarning):
    """Base class of every warning issued by aiter_compat."""

    __module__ = "aiter_compat"


_seen: dict[str, object] = {}


def warn_once(cause: str, message: str, *, stacklevel: int = 2) -> None:
    """Warn about `cause` the first time it occurs in this process; `ac.refresh()` forgets what was said.

    Args:
        cause: key of the cause; the same key is silent afterwards.
        message: what a person reads.
        stacklevel: as in `warnings.warn`, counted from the caller of this function.
    """
    mine = object()
    if _seen.setdefault(cause, mine) is not mine:  # one step, so that of several threads one speaks, without a lock
        return
    warnings.warn(message, AiterCompatWarning, stacklevel=stacklevel + 1)


def forget_warnings() -> None:
    """Make every cause speak again."""
    _seen.clear()
