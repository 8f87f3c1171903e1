"""Run a part under a level of AITER_COMPAT_CHECKS, in a process that has prepared no call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import aiter_compat as ac

CHECK_LEVELS = ("metadata", "off")
"""Those that leave a device alone; "debug" reads values."""
_VARIABLE = "AITER_COMPAT_CHECKS"


@contextmanager
def check_level(name: str) -> Iterator[None]:
    """The level in force inside; nothing that was learnt before is known inside, nor the other way round."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = name
    ac.refresh()
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
        ac.refresh()
