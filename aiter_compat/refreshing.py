"""`refresh()`: forget what was learnt about this process, after an installation or the environment changed."""

from __future__ import annotations

from aiter_compat.detect import forget_installation
from aiter_compat.enums import forget_enums
from aiter_compat.features import forget_capabilities, forget_surface
from aiter_compat.native import forget_attempts
from aiter_compat.prepared_calls import forget_prepared_calls
from aiter_compat.quirks import forget_environment
from aiter_compat.settings import forget_settings
from aiter_compat.warning_types import forget_warnings


def refresh() -> None:
    """Detect, probe, import and warn again on next use, and read the environment again.

    An AITER that this process has imported stays imported, as Python modules do.
    """
    for forget in (
        forget_installation,
        forget_surface,
        forget_capabilities,
        forget_enums,
        forget_attempts,
        forget_environment,
        forget_settings,
        forget_warnings,
        forget_prepared_calls,  # last: they were made of all that is forgotten above
    ):
        forget()
