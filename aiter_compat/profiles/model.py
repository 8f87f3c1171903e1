"""A numerics profile: every choice of arithmetic that two implementations of the same MoE can make differently.

A profile holds arithmetic only. What a limit of 0.0 means, what a zero routing weight does, which batch size gets
which activation format: those are quirks of a release, kept elsewhere.

The named AITER profiles follow AITER's torch reference of that release (`aiter/fused_moe.py` torch_moe_stage1 and
torch_moe_stage2, `aiter/ops/quant.py`, `aiter/utility/fp4_utils.py`), which is what its own tests compare every kernel
with. Kernels of one release differ from it and from each other; where a field can follow them, it is named.

HIP quantisers (`csrc/kernels/quant_kernels.cu`)
    The block maximum starts at 1e-10 (`block_amax_floor`), so zero blocks get scale byte 92 (mxfp4) and blocks below
    1e-10 flush to zero. Up to v0.1.15 a block maximum of 1.5 * 2^127 or more overflows to a NaN scale. NaN elements
    are dropped from the maximum. fp8 scales multiply by fl(1/448) (`fp8_arithmetic="reciprocal"`).
CK (`ck_moe_stage1`, `ck_moe_stage2`)
    doweight_stage1 as here (before the activation; it takes no bias). Every slot rounds to bf16 and is added with bf16
    atomics (`slot_rounding`, `slot_sum`).
CK-Tile (a16w4)
    doweight_stage1 is ignored. With split-K the first GEMM's result is summed in bf16. Slots as in CK.
FlyDSL (`aiter/ops/flydsl/kernels/mixed_moe_gemm_2stage*.py`)
    doweight_stage1 multiplies after the activation. Kernels named `_fp4` or `_fp8` quantise stage 1 from fp32
    (`second_qdq_from="fp32"`) and keep the `nearest` scale rule in every release, v0.1.16 and later included; they do
    not flag Inf (scale byte 253). `reduce` kernels round each slot to bf16 and sum in fp32, `atomic` ones round after
    every addition.

Sources: AITER v0.1.13.post1, v0.1.15.post3, v0.1.16 and v0.1.20.post1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

ScaleRule = Literal["floor", "nearest", "even", "even_or_nan", "even_or_largest", "rceil", "ceil"]
KernelFamily = Literal["aiter_torch_reference", "quark_emulation", "ocp_mx"]
Stage1Weight = Literal["before_bias", "after_activation", "ignored"]


@dataclass(frozen=True)
class NumericsProfile:
    """The exact arithmetic to reproduce. Frozen, hashable; two profiles are equal when they compute the same.

    Made by `profile()`, which validates; the allowed values of each field are in
    `aiter_compat.profiles.choices.ALLOWED`.

    Attributes:
        name: the profile's name as asked for, without overrides. Not compared.
        kernel_family: whose arithmetic this is; see the module docstring for the families that a release also ships.
            Not compared, not overridable.
        mxfp4_scale_rule: how a block maximum becomes the shared e8m0 scale of e2m1 elements. With a the maximum, m in
            [1, 2) its significand and emax the exponent of the element's largest value, the rules round a / 2^emax
            to a power of two:
            "floor": down (OCP MX v1.0, torchao FLOOR, AITER RoundDown);
            "nearest": up when m >= 1.5 (AITER up to v0.1.15, FlyDSL's fused quantisation in every release);
            "even": up when m rounds up to 2 in the element's own precision, 1.75 for e2m1 (Quark, torchao EVEN);
            "even_or_nan": the same, but a carry past fp32's largest exponent makes the scale NaN (AITER's Even mode
            in Python since v0.1.16);
            "even_or_largest": the same, but such a carry gives the largest scale, byte 254 (Quark's mxfp4 in Python
            and Triton);
            "rceil": up to the power of two not below a / (largest element value) (torchao RCEIL, AITER RoundUp, the
            default since v0.1.16);
            "ceil": up unless m == 1 (torchao CEIL, AITER Ceil).
        mxfp6_scale_rule: the same for e2m3 and e3m2. AITER has no such quantiser, so its profiles use Quark's.
        mxfp8_scale_rule: the same for e4m3.
        mxfp8_e5m2_scale_rule: the same for e5m2; AITER has no such quantiser either.
        block_amax_floor: smallest block maximum that the scale is computed from: 0.0, or 1e-10 as in the HIP
            quantisers. At 0.0 a zero block has scale byte 0 and keeps its signed zeros, subnormal maxima are quantised
            like any other.
        nonfinite_block: what a block holding Inf or NaN dequantises to: "nan" for all its elements (scale byte 255).
        element_rounding: "nearest_even", saturating at the element's largest value, the sign of zero kept.
        fp8_arithmetic: "divide": scale = amax / 448 and x / scale; "reciprocal": amax * fl(1/448) and x * (1 / scale).
        a8w4_format: format of 8-bit activations against mxfp4 weights: "mxfp8", or "fp8_cast" (unit scale, what AITER
            did before v0.1.15).
        stage1_accumulation: "fp32" up to and including the activation.
        doweight_stage1: where stage 1 multiplies the routing weight when asked to: "before_bias"
            ((x @ w1) * weight + bias, then the activation), "after_activation" (FlyDSL) or "ignored" (CK-Tile).
        second_qdq_from: what the second activation QDQ reads: "bf16" (stage 1's output, rounded to the 16-bit dtype of
            the call) or "fp32" (fused into stage 1).
        stage2_order: "bias_then_weight": (a2 @ w2 + bias2) * weight.
        slot_rounding: "none", or "bf16": each of a token's top-k results is rounded before the sum.
        slot_sum: "fp32" (one rounding at the end) or "bf16" (rounded after every addition, in slot order; atomics on
            hardware have no fixed order).
    """

    name: str = field(compare=False)
    kernel_family: KernelFamily = field(compare=False)
    mxfp4_scale_rule: ScaleRule
    mxfp6_scale_rule: ScaleRule
    mxfp8_scale_rule: ScaleRule
    mxfp8_e5m2_scale_rule: ScaleRule
    block_amax_floor: float = 0.0
    nonfinite_block: Literal["nan"] = "nan"
    element_rounding: Literal["nearest_even"] = "nearest_even"
    fp8_arithmetic: Literal["divide", "reciprocal"] = "divide"
    a8w4_format: Literal["mxfp8", "fp8_cast"] = "mxfp8"
    stage1_accumulation: Literal["fp32"] = "fp32"
    doweight_stage1: Stage1Weight = "before_bias"
    second_qdq_from: Literal["bf16", "fp32"] = "bf16"
    stage2_order: Literal["bias_then_weight"] = "bias_then_weight"
    slot_rounding: Literal["none", "bf16"] = "none"
    slot_sum: Literal["fp32", "bf16"] = "fp32"

    def as_dict(self) -> dict[str, str | float]:
        """The fields by name, JSON-ready."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __str__(self) -> str:
        """Several lines that a person can read: the name, then one field a line."""
        rows = [(name, value) for name, value in self.as_dict().items() if name != "name"]
        width = max(len(name) for name, _ in rows)
        return "\n".join([self.name, *(f"  {name:<{width}}  {value}" for name, value in rows)])
