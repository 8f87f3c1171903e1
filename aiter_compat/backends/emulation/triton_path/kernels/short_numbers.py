"""Rounding to 16 bits and back, in Triton and Gluon kernels."""

from __future__ import annotations

import triton
import triton.language as tl
from triton import knobs

INTERPRETED = tl.constexpr(knobs.runtime.interpret)
"""Triton's interpreter has the integers of their bits for bf16 numbers: it multiplies those, and does not round."""


@triton.jit
def to_short(values, KIND: tl.constexpr):
    """fp32 values rounded to "bf16" or "fp16" and back; anything else leaves them."""
    if KIND == "fp16":
        values = values.to(tl.float16).to(tl.float32)
    elif KIND == "bf16":
        if INTERPRETED:
            bits = values.to(tl.int32, bitcast=True)
            rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000
            values = tl.where(values == values, rounded.to(tl.float32, bitcast=True), values)
        else:
            values = values.to(tl.bfloat16).to(tl.float32)
    return values
