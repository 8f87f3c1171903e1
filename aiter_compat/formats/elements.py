"""The small floating-point element formats, and their values code by code.

Sources: OCP MX v1.0 (e2m1, e2m3, e3m2), OCP 8-bit floating point (e4m3fn, e5m2).
"""

from __future__ import annotations

from dataclasses import dataclass

F4_E2M1_MAX = 6.0
F6_E2M3_MAX = 7.5
F6_E3M2_MAX = 28.0
F8_E4M3_MAX = 448.0
F8_E5M2_MAX = 57344.0

F8_NAN_CODE = 0x7F
F4_NAN_STAND_IN = 0x3


@dataclass(frozen=True)
class Element:
    """One element format: sign, exponent and mantissa, no infinities ever produced.

    Attributes:
        name: as in the OCP specification, "e2m1".
        exponent_bits: width of the exponent field.
        mantissa_bits: width of the mantissa field.
        bias: exponent bias.
        largest: largest finite value; larger inputs saturate at it.
        largest_exponent: exponent of `largest`, emax in the OCP specification.
        nan_code: code written for NaN, whose block has a NaN scale anyway. For e2m1, which has no NaN, it is what
            AITER's bit manipulation makes of one (v0.1.15.post3 `aiter/utility/fp4_utils.py`).
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    largest: float
    largest_exponent: int
    nan_code: int = 0

    @property
    def smallest_normal(self) -> float:
        """Below it the values are evenly spaced."""
        return float(2.0 ** (1 - self.bias))

    @property
    def smallest_subnormal(self) -> float:
        """Spacing of the values below `smallest_normal`."""
        return float(2.0 ** (1 - self.bias - self.mantissa_bits))

    @property
    def sign_bit(self) -> int:
        """The sign bit of a code."""
        return 1 << (self.exponent_bits + self.mantissa_bits)

    def value(self, code: int) -> float:
        """Value of a code; bits above the sign bit are ignored; NaN and Inf codes of the fp8 formats included."""
        magnitude = code & (self.sign_bit - 1)
        sign = -1.0 if code & self.sign_bit else 1.0
        exponent, mantissa = divmod(magnitude, 1 << self.mantissa_bits)
        if exponent == 0:
            return sign * mantissa * self.smallest_subnormal
        value = float((1 + mantissa / (1 << self.mantissa_bits)) * 2.0 ** (exponent - self.bias))
        if value <= self.largest:
            return sign * value
        is_infinity = self.name == "e5m2" and mantissa == 0
        return sign * float("inf") if is_infinity else float("nan")

    def magnitudes(self) -> tuple[float, ...]:
        """The non-negative finite values in code order, which is increasing order."""
        values = (self.value(code) for code in range(self.sign_bit))
        return tuple(value for value in values if value <= self.largest)


E2M1 = Element("e2m1", 2, 1, bias=1, largest=F4_E2M1_MAX, largest_exponent=2, nan_code=F4_NAN_STAND_IN)
E2M3 = Element("e2m3", 2, 3, bias=1, largest=F6_E2M3_MAX, largest_exponent=2)
E3M2 = Element("e3m2", 3, 2, bias=3, largest=F6_E3M2_MAX, largest_exponent=4)
E4M3 = Element("e4m3", 4, 3, bias=7, largest=F8_E4M3_MAX, largest_exponent=8, nan_code=F8_NAN_CODE)
E5M2 = Element("e5m2", 5, 2, bias=15, largest=F8_E5M2_MAX, largest_exponent=15, nan_code=F8_NAN_CODE)
