"""Behaviour of AITER releases behind an unchanged signature, as data with range, effect, source and expiry."""

from aiter_compat.quirks.activation_formats import FormatChoice, activation_format
from aiter_compat.quirks.environment import forget_environment
from aiter_compat.quirks.table import QUIRKS, Quirk, has_quirk, quirks_of

__all__ = ["QUIRKS", "FormatChoice", "Quirk", "activation_format", "forget_environment", "has_quirk", "quirks_of"]
