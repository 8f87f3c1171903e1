"""get_gemm_config returns the configuration and whether it is a tuned one since v0.1.9.post1; it was a dictionary."""

from aiter_compat.migration_matching import calls
from aiter_compat.migration_model import Migration

_PATH = "aiter.ops.triton.utils.gemm_config_utils.get_gemm_config"

MIGRATION = Migration(
    kind="return shape",
    symbol=_PATH,
    since="0.1.9.post1",
    remedy="Leave the configuration to AITER's own functions, which aiter_compat.load finds.",
    source="ROCm/aiter v0.1.9.post1 aiter/ops/triton/utils/gemm_config_utils.py",
    matches=lambda use: calls(use, _PATH),
)
