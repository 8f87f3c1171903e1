"""Which scale rule a profile has for a format."""

from __future__ import annotations

from aiter_compat.formats.catalog import find_codec
from aiter_compat.formats.mx_block import MxCodec
from aiter_compat.profiles import NumericsProfile


def scale_rule(rounding: str, profile: NumericsProfile) -> str:
    """Name of the rule, "none" for a format that has no block scales."""
    codec = None if rounding == "none" else find_codec(rounding)
    return codec.rule(profile) if isinstance(codec, MxCodec) else "none"
