"""Fields of the fp32 bit pattern, seen through an int32 view."""

from __future__ import annotations

from typing import Final

MANTISSA_BITS: Final = 23
EXPONENT_BIAS: Final = 127
EXPONENT_ALL_ONES: Final = 0xFF
EXPONENT_MASK: Final = 0x7F800000
MANTISSA_MASK: Final = 0x007FFFFF
MANTISSA_HALF: Final = 0x00400000
"""The mantissa's top bit: a significand of 1.5; alone, with exponent 0, the subnormal 2^-127."""
