"""Behaviour of AITER releases behind an unchanged signature, as data with range, effect, source and expiry."""

from aiter_compat.quirks.activation_formats import FormatChoice, activation_format
from aiter_compat.quirks.environment import forget_environment
from aiter_compat.quirks.model import Evidence, Quirk
from aiter_compat.quirks.table import QUIRKS, has_quirk, quirks_met, quirks_of
from aiter_compat.quirks.workarounds import WORKAROUNDS, Obsolete, Workaround, obsolete_workarounds

__all__ = [
    "QUIRKS",
    "WORKAROUNDS",
    "Evidence",
    "FormatChoice",
    "Obsolete",
    "Quirk",
    "Workaround",
    "activation_format",
    "forget_environment",
    "has_quirk",
    "obsolete_workarounds",
    "quirks_met",
    "quirks_of",
]
