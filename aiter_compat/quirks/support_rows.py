"""Releases that calls are adapted to and not tested on."""

from __future__ import annotations

from aiter_compat.quirks.model import Quirk
from aiter_compat.releases import ReleaseRange

OLDEST_TESTED = "0.1.13"

ROWS: tuple[Quirk, ...] = (
    Quirk(
        name="release_too_old",
        ranges=(ReleaseRange(None, "0.1.13.dev0"),),  # v0.1.13.dev0 is the first release candidate of v0.1.13
        outcome="lost",
        effect=f"the release is too old: before v{OLDEST_TESTED} calls are adapted to it and not tested",
        remedy=f"install v{OLDEST_TESTED} or newer",
        source="v0.1.12.post2 and v0.1.13 aiter/ops/flydsl (GateMode came with v0.1.13)",
        ended_by=(
            "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode",
            "aiter.ops.flydsl.moe_common.GateMode",
        ),
    ),
)
