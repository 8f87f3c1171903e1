"""Where a symbol of AITER is in this release, whatever it was called before or since: `ac.locate()`, `ac.load()`."""

from aiter_compat.symbols.finding import locate
from aiter_compat.symbols.importing import load

__all__ = ["load", "locate"]
