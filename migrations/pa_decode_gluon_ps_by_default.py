"""pa_decode_gluon uses its persistent kernel by default since v0.1.14: ps is True where it was False."""

from aiter_compat.migration_matching import calls, lacks_keyword
from aiter_compat.migration_model import Migration

_PATH = "aiter.ops.triton.gluon.pa_decode_gluon.pa_decode_gluon"

MIGRATION = Migration(
    kind="changed default",
    symbol=_PATH,
    detail="ps",
    since="0.1.14",
    remedy="Pass ps by keyword; aiter_compat.load gives the function as the release has it.",
    source="ROCm/aiter v0.1.14 aiter/ops/triton/gluon/pa_decode_gluon.py",
    matches=lambda use: calls(use, _PATH) and lacks_keyword(use, "ps"),
)
