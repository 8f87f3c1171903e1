"""Limits, slopes and betas that kernels take, ignore or have built in, and what AITER quantises activations to."""

from __future__ import annotations

from aiter_compat.quirks.model import Evidence, Quirk
from aiter_compat.releases import ReleaseRange

FUSED_MOE = "aiter.fused_moe.fused_moe"

ROWS: tuple[Quirk, ...] = (
    Quirk(
        name="limit_ignored",
        ranges=(ReleaseRange("0.1.14", None),),
        outcome="lost",
        when=("limit",),
        effect=(
            "only FlyDSL stage 1 receives swiglu_limit (from v0.1.19.post1 Opus too); CK, CK-Tile and 1-stage kernels "
            "clamp SwiGLU at 7.0 and SiLU not at all"
        ),
        remedy="leave swiglu_limit at the activation's default, or use the emulation",
        source="v0.1.14 to v0.1.20.post1 aiter/fused_moe.py; v0.1.17 csrc/kernels/activation_kernels.cu",
        evidence=Evidence(FUSED_MOE, "swiglu_limit"),
    ),
    Quirk(
        name="limited_silu_takes_swiglu_slope",
        ranges=(ReleaseRange("0.1.14", "0.1.17"),),
        outcome="lost",
        when=("limit", "mxfp4_weights"),
        effect="FlyDSL's split-K epilogue of a SiLU with a limit uses sigmoid(1.702 x) instead of sigmoid(x)",
        remedy="leave swiglu_limit at the activation's default, or use the emulation",
        source="v0.1.14 to v0.1.16.post6 aiter/ops/flydsl/kernels/silu_and_mul_fq.py; right from v0.1.17 (#3767)",
        activations=("silu",),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="limit_zero_is_unset",
        ranges=(ReleaseRange("0.1.14", "0.1.17"),),
        when=("without_aiter_compat",),
        effect="swiglu_limit=0.0 means the activation's default, and None is refused by the operator's schema",
        remedy="pass None to aiter_compat, which sends 0.0 here",
        source="v0.1.14 to v0.1.16.post6 aiter/fused_moe.py fused_moe_",
    ),
    Quirk(
        name="limit_zero_clamps_in_reference",
        ranges=(ReleaseRange("0.1.17", None),),
        when=("without_aiter_compat",),
        effect="swiglu_limit=0.0 clamps at zero in AITER's torch paths; None is the default there",
        remedy="pass None; aiter_compat never sends 0.0",
        source="v0.1.17 aiter/fused_moe.py swiglu; v0.1.19.post1 aiter/ops/flydsl/moe_common.py",
    ),
    Quirk(
        name="swiglu_constants_built_in",
        ranges=(ReleaseRange(None, None),),
        when=("other_constants",),
        effect="every kernel has SwiGLU's slope 1.702 and shift 1.0 built in",
        remedy="another alpha or beta needs the emulation",
        source="v0.1.14 to v0.1.20.post1 csrc/kernels/activation_kernels.cu; vllm-project/vllm#49747",
        activations=("swiglu",),
    ),
    Quirk(
        name="situ_defaults_differ",
        ranges=(ReleaseRange("0.1.19", None),),
        when=("without_aiter_compat",),
        effect=(
            "beta=None and linear_beta=None mean 1.0 to FlyDSL kernels, 4.0 and 25.0 to Opus, and 2.0 and 1.5 to "
            "AITER's torch reference before v0.1.20"
        ),
        remedy="send both numbers; aiter_compat's defaults are 4.0 and 25.0",
        source="v0.1.19, v0.1.19.post2 and v0.1.20.post1 aiter/fused_moe.py fused_moe_2stages, situv2",
        activations=("situv2",),
    ),
    Quirk(
        name="shared_expert_loses_beta",
        ranges=(ReleaseRange("0.1.19.post1", None),),
        when=("shared_expert",),
        effect="the shared-expert route receives neither beta nor linear_beta, and refuses every activation but SiLU",
        remedy="use SiLU with a shared expert, or compute the shared expert apart",
        source="v0.1.19.post1 and v0.1.20.post1 aiter/fused_moe.py fused_moe, aiter/fhmoe.py",
        evidence=Evidence(FUSED_MOE, "shared_w1"),
    ),
    Quirk(
        name="activation_format_by_tokens",
        ranges=(ReleaseRange(None, None),),
        when=("mxfp4_weights", "aiter_chooses_format"),
        effect=(
            "the activation format changes with the number of tokens: bf16 below a bound (512, or 256 on v0.1.13 and "
            "from v0.1.14 on), MXFP4 or FP8 from there"
        ),
        remedy="state activation_qdq (or MoEConfig.exact_qdq) where results must not depend on the batch size",
        source="v0.1.9 to v0.1.20.post1 aiter/fused_moe.py fused_moe_ (rows in aiter_compat.quirks.activation_formats)",
        activations=("swiglu",),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="interleave_format_by_tokens",
        ranges=(ReleaseRange("0.1.14", None),),
        when=("mxfp4_weights", "interleave", "aiter_chooses_format"),
        effect="interleaved weights take bf16 activations below AITER_BF16_FP8_MOE_BOUND (256) tokens, FP8 from there",
        remedy="state activation_qdq (or MoEConfig.exact_qdq) where results must not depend on the batch size",
        source="v0.1.14 to v0.1.20.post1 aiter/fused_moe.py fused_moe_",
        activations=("silu", "gelu", "gelu_tanh"),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="fp8_activations_unscaled",
        ranges=(ReleaseRange(None, "0.1.15"),),
        when=("fp8_cast_activations",),
        effect="FP8 activations are cast with unit scales: values above 448 saturate, small ones vanish",
        remedy="raise AITER's bound for bf16 activations, or use v0.1.15 on, which scales blocks of 32",
        source="v0.1.13.post1 and v0.1.14 aiter/fused_moe.py fused_moe_2stages; v0.1.15 has block scales",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="second_operand_quantised_unasked",
        ranges=(ReleaseRange("0.1.14", None),),
        when=("mxfp4_weights", "interleave", "unquantised_activations"),
        effect="over interleaved weights SiLU and GELU quantise the second operand to MXFP4, though the first is bf16",
        remedy="use the emulation for weight-only arithmetic",
        source="v0.1.14 to v0.1.20.post1 aiter/fused_moe.py fused_moe_2stages (a2_scale)",
        activations=("silu", "gelu", "gelu_tanh"),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="two_scale_rules_in_one_call",
        ranges=(ReleaseRange("0.1.16", None),),
        when=("mx_activations", "mxfp4_weights"),
        effect="FlyDSL stages that quantise in the GEMM keep the MX scale rule of v0.1.15, quantisers beside it do not",
        remedy="expect differences between kernels where a block's maximum is near 1.5 times a power of two",
        source="v0.1.16 and v0.1.18 aiter/ops/flydsl/kernels/mixed_moe_gemm_2stage.py, aiter/utility/fp4_utils.py",
        quant_types=("per_1x32",),
    ),
)
