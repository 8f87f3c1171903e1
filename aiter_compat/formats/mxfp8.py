"""mxfp8 (e4m3fn) and mxfp8_e5m2: eight-bit elements with an e8m0 scale per 32.

Source of mxfp8: AITER v0.1.15.post3 and v0.1.20.post1 `aiter/ops/quant.py` per_1x32_f8_scale_f8_quant with
scale_type fp8_e8m0. AITER does not quantise to e5m2; the profiles take Quark's rule.
"""

from __future__ import annotations

from aiter_compat.formats.elements import E4M3, E5M2
from aiter_compat.formats.mx_block import MxCodec

MXFP8 = MxCodec("mxfp8", E4M3, lambda numerics: numerics.mxfp8_scale_rule)
MXFP8_E5M2 = MxCodec("mxfp8_e5m2", E5M2, lambda numerics: numerics.mxfp8_e5m2_scale_rule)
