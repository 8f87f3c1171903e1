"""What each field of a numerics profile may be set to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from aiter_compat.profiles.model import ScaleRule, Stage1Weight

SCALE_RULES: tuple[str, ...] = get_args(ScaleRule)

HIP_AMAX_FLOOR = 1e-10
"""Where the running block maximum of AITER's HIP quantisers starts (`csrc/kernels/quant_kernels.cu`)."""

ALLOWED: Mapping[str, tuple[str | float, ...]] = {
    "mxfp4_scale_rule": SCALE_RULES,
    "mxfp6_scale_rule": SCALE_RULES,
    "mxfp8_scale_rule": SCALE_RULES,
    "mxfp8_e5m2_scale_rule": SCALE_RULES,
    "block_amax_floor": (0.0, HIP_AMAX_FLOOR),
    "nonfinite_block": ("nan",),
    "element_rounding": ("nearest_even",),
    "fp8_arithmetic": ("divide", "reciprocal"),
    "a8w4_format": ("mxfp8", "fp8_cast"),
    "stage1_accumulation": ("fp32",),
    "doweight_stage1": get_args(Stage1Weight),
    "second_qdq_from": ("bf16", "fp32"),
    "stage2_order": ("bias_then_weight",),
    "slot_rounding": ("none", "bf16"),
    "slot_sum": ("fp32", "bf16"),
}
"""Field name -> allowed values; every field that `profile()` may override is a key."""
