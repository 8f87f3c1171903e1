"""Dotted paths of the AITER symbols that the wrapper uses; where a symbol has several, the newest place comes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aiter_compat.probe import Surface

FUSED_MOE = "aiter.fused_moe.fused_moe"

# The second place is that of minimal forks, which define the enums in aiter/__init__.py.
ACTIVATION_TYPE = ("aiter.ops.enum.ActivationType", "aiter.ActivationType")
QUANT_TYPE = ("aiter.ops.enum.QuantType", "aiter.QuantType")

# v0.1.14 on: aiter/ops/flydsl/moe_common.py. v0.1.13: only the kernel module. The class of the same name in
# aiter/fused_moe.py (v0.1.17 on) has two members and is a stand-in for a missing flydsl, hence last.
GATE_MODE = (
    "aiter.ops.flydsl.moe_common.GateMode",
    "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode",
    "aiter.fused_moe.GateMode",
    "aiter.GateMode",
)


def stated_members(surface: Surface, paths: Iterable[str]) -> Mapping[str, int | str] | None:
    """Members of the enum at the first of these paths whose members the surface states; None when it states none."""
    return next((members for path in paths if (members := surface.members(path))), None)
