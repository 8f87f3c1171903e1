"""mxfp6_e2m3 and mxfp6_e3m2: six-bit elements, one a byte in its low bits.

AITER quantises to neither; the profiles take Quark's rule (amd-quark, which vLLM's emulation calls), see
`NumericsProfile.mxfp6_scale_rule`. Source of the elements: OCP MX v1.0.
"""

from __future__ import annotations

from aiter_compat.formats.elements import E2M3, E3M2
from aiter_compat.formats.mx_block import MxCodec

MXFP6_E2M3 = MxCodec("mxfp6_e2m3", E2M3, lambda numerics: numerics.mxfp6_scale_rule)
MXFP6_E3M2 = MxCodec("mxfp6_e3m2", E3M2, lambda numerics: numerics.mxfp6_scale_rule)
