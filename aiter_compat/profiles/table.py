"""The named profiles and the AITER releases that compute like each of them. Data, nothing else.

Checked against the sources of every tag listed: `aiter/ops/quant.py` (per_1x32_f4_quant, per_1x32_f8_scale_f8_quant,
pertoken_quant, per_tensor_quant), `aiter/utility/fp4_utils.py`, `aiter/utility/mx_types.py`
(MX_DEFAULT_ROUND_MODE, from v0.1.16) and the a8w4 branch of `aiter/fused_moe.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiter_compat.profiles.model import NumericsProfile

DEFAULT_PROFILE = "aiter-0.1.15"

PROFILES: Mapping[str, NumericsProfile] = {
    numerics.name: numerics
    for numerics in (
        NumericsProfile(
            name="aiter-0.1.13",
            kernel_family="aiter_torch_reference",
            mxfp4_scale_rule="nearest",
            mxfp6_scale_rule="even",
            mxfp8_scale_rule="nearest",
            mxfp8_e5m2_scale_rule="even",
            a8w4_format="fp8_cast",
        ),
        NumericsProfile(
            name="aiter-0.1.15",
            kernel_family="aiter_torch_reference",
            mxfp4_scale_rule="nearest",
            mxfp6_scale_rule="even",
            mxfp8_scale_rule="nearest",
            mxfp8_e5m2_scale_rule="even",
        ),
        NumericsProfile(
            name="aiter-0.1.16",
            kernel_family="aiter_torch_reference",
            mxfp4_scale_rule="rceil",
            mxfp6_scale_rule="even",
            mxfp8_scale_rule="rceil",
            mxfp8_e5m2_scale_rule="even",
        ),
        # Quark's quantisation inside AITER's order of operations. vLLM's own emulation of it also rounds both GEMM
        # results of every slot to bf16 before going on (vllm .../experts/ocp_mx_emulation_moe.py).
        NumericsProfile(
            name="quark",
            kernel_family="quark_emulation",
            mxfp4_scale_rule="even_or_largest",
            mxfp6_scale_rule="even",
            mxfp8_scale_rule="even",
            mxfp8_e5m2_scale_rule="even",
        ),
        NumericsProfile(
            name="ocp",
            kernel_family="ocp_mx",
            mxfp4_scale_rule="floor",
            mxfp6_scale_rule="floor",
            mxfp8_scale_rule="floor",
            mxfp8_e5m2_scale_rule="floor",
        ),
    )
}

ARITHMETIC_SINCE: tuple[tuple[str, str], ...] = (
    ("0.1.9", "aiter-0.1.13"),
    ("0.1.15", "aiter-0.1.15"),
    ("0.1.16", "aiter-0.1.16"),
)
"""First release, profile: the arithmetic holds until the next row. Oldest first."""
