"""Which kernels read `hidden_pad` and `intermediate_pad`, and how."""

from __future__ import annotations

from aiter_compat.quirks.model import Evidence, Quirk
from aiter_compat.releases import ReleaseRange

PAD_FIX = "aiter.fused_moe._get_padding_for_flydsl"

ROWS: tuple[Quirk, ...] = (
    Quirk(
        name="pads_ignored_by_ck",
        ranges=(ReleaseRange(None, None),),
        outcome="harmless",
        when=("pads",),
        effect="CK 2-stage and 1-stage kernels ignore hidden_pad and intermediate_pad",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.9 to v0.1.20.post1 aiter/fused_moe.py get_2stage_cfgs; ROCm/aiter#5413",
    ),
    Quirk(
        name="pads_ignored_by_flydsl",
        ranges=(ReleaseRange(None, "0.1.15"),),
        outcome="harmless",
        when=("pads",),
        effect="FlyDSL kernels ignore hidden_pad and intermediate_pad",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.14.post1 and v0.1.15 aiter/fused_moe.py _flydsl_stage1_wrapper",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="pad_skipping_inaccurate",
        ranges=(ReleaseRange("0.1.15", "0.1.15.post3"),),
        outcome="lost",
        when=("pads", "mxfp4_weights"),
        effect="FlyDSL stage 2 can read columns that stage 1 never wrote when pads are passed",
        remedy="pass intermediate_pad=0 and hidden_pad=0 over zero-filled weights",
        source="ROCm/aiter#3401 (fixed by commit e2e0a4a86b in v0.1.15.post3 and ef114b0d41 in v0.1.16), #3538",
        quant_types=("per_1x32",),
        ended_by=(PAD_FIX,),
    ),
    Quirk(
        name="bias_switches_pads_off",
        ranges=(ReleaseRange("0.1.15.post3", None),),
        outcome="harmless",
        when=("pads", "bias"),
        effect="FlyDSL stages that have a bias run with both pads set to 0",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.15.post3 and v0.1.16 to v0.1.20.post1 aiter/fused_moe.py _get_padding_for_flydsl",
        quant_types=("per_1x32",),
        evidence=Evidence(PAD_FIX),
    ),
    Quirk(
        name="hidden_pad_ignored_by_opus",
        ranges=(ReleaseRange("0.1.19.post1", None),),
        outcome="harmless",
        when=("hidden_pad", "mxfp4_weights"),
        effect="Opus stage 1 (a8w4) receives intermediate_pad and not hidden_pad",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.19.post1 and v0.1.20.post1 aiter/fused_moe.py _opus_a8w4_stage1_wrapper",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="intermediate_pad_doubled_inside",
        ranges=(ReleaseRange(None, None),),
        when=("intermediate_pad", "mxfp4_weights"),
        effect="kernels that read intermediate_pad count it per gate/up half and double it themselves",
        remedy="pass the pad of one half; a doubled one masks live rows",
        source=(
            "v0.1.9 to v0.1.20.post1 aiter/fused_moe.py (n_pad_zeros of cktile_moe_stage1); v0.1.15.post3 "
            "aiter/ops/flydsl/kernels/mixed_moe_gemm_2stage.py; vllm-project/vllm#44679"
        ),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="pads_rounded_down_by_cktile",
        ranges=(ReleaseRange(None, None),),
        outcome="harmless",
        when=("partial_pads", "mxfp4_weights"),
        warns=False,
        effect="CK-Tile skips whole tiles of 64 rows and 128 columns of a pad, and computes the rest",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.9 to v0.1.20.post1 aiter/fused_moe.py (n_pad_zeros, k_pad_zeros)",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="cktile_needs_intermediate_256",
        ranges=(ReleaseRange("0.1.14", None),),
        outcome="lost",
        when=("unaligned_intermediate", "mxfp4_weights", "unquantised_activations"),
        effect="CK-Tile stage 2 misreads e8m0 scales where the intermediate size is no multiple of 256",
        remedy="pad the intermediate size to a multiple of 256 with zero-filled weights",
        source="ROCm/aiter#5233 and #5232 (measured on v0.1.19); v0.1.14 aiter/fused_moe.py has the same dispatch",
        activations=("swiglu",),
        quant_types=("per_1x32",),
    ),
)
