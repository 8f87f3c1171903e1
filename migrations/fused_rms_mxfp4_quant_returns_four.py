"""fused_rms_mxfp4_quant returns four things since v0.1.7.post3: the unquantised first output came second.

Until v0.1.6.post1 it returns two or three by what it is given, from v0.1.6.post2 always three.
"""

from aiter_compat.migration_matching import calls_any
from aiter_compat.migration_model import Migration

_PATHS = (
    "aiter.ops.triton.fused_mxfp4_quant.fused_rms_mxfp4_quant",
    "aiter.ops.triton.quant.fused_mxfp4_quant.fused_rms_mxfp4_quant",
)

MIGRATION = Migration(
    kind="return shape",
    symbol="aiter.ops.triton.fused_mxfp4_quant.fused_rms_mxfp4_quant",
    since="0.1.7.post3",
    remedy="Unpack by the length of what is returned; aiter_compat.load finds the function on either side.",
    source="ROCm/aiter v0.1.7.post3 aiter/ops/triton/fused_mxfp4_quant.py",
    matches=lambda use: calls_any(use, _PATHS),
)
