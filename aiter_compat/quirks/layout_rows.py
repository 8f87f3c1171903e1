"""Which memory layout a gate mode reads, and what marks it."""

from __future__ import annotations

from aiter_compat.quirks.activation_rows import FUSED_MOE
from aiter_compat.quirks.model import Evidence, Quirk
from aiter_compat.releases import ReleaseRange

ROWS: tuple[Quirk, ...] = (
    Quirk(
        name="swiglu_reads_interleaved",
        ranges=(ReleaseRange(None, "0.1.14"),),
        effect="without a gate_mode keyword, SwiGLU over MXFP4 weights reads them as gate/up-interleaved (a16w4)",
        remedy="prepare interleaved weights, or use a release from v0.1.14 on",
        source="v0.1.13.post1 aiter/fused_moe.py get_2stage_cfgs; ROCm/aiter#3586",
        activations=("swiglu",),
        quant_types=("per_1x32",),
        evidence=Evidence(FUSED_MOE, "gate_mode", present=False),
    ),
    Quirk(
        name="interleave_reads_a16w4",
        ranges=(ReleaseRange("0.1.14", None),),
        when=("interleave", "mxfp4_weights"),
        effect="gate_mode interleave reads weights and scales in the a16w4 layout (16 gate rows, 16 up rows), bias not",
        remedy="prepare the weights (ac.prepare_weights); a checkpoint's alternating rows are another layout",
        source="v0.1.14 to v0.1.20.post1 aiter/fused_moe.py, aiter/ops/shuffle.py; ROCm/aiter#3586",
        quant_types=("per_1x32",),
        evidence=Evidence(FUSED_MOE, "gate_mode"),
    ),
    Quirk(
        name="logical_scales_misread",
        ranges=(ReleaseRange(None, None),),
        outcome="lost",
        when=("logical_layout",),
        warns=False,
        effect="kernels read the e8m0 scales of separated MXFP4 weights shuffled, whether or not the weights are",
        remedy="prepare the weights (ac.prepare_weights)",
        source="v0.1.15.post3 op_tests/test_moe_2stage.py",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="shuffle_mark_of_w1_only",
        ranges=(ReleaseRange(None, "0.1.14"),),
        effect="only w1's is_shuffled attribute is read; nn.Parameter, .data and .to() lose it",
        remedy="state weight_layout: aiter_compat marks the weights anew",
        source="v0.1.13.post1 and v0.1.14 aiter/fused_moe.py fused_moe_; ROCm/aiter#4542",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="a16w4_scale_columns_padded",
        ranges=(ReleaseRange("0.1.18", None),),
        when=("interleave",),
        effect="scales of a16w4 weights are padded to 8 columns with byte 0x7F: K need not be a multiple of 256",
        remedy="prepare weights for the release that serves them (ac.prepare_weights)",
        source="v0.1.18 aiter/ops/shuffle.py shuffle_scale_a16w4; up to v0.1.17 it raises",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="interleave_fails_while_tracing",
        ranges=(ReleaseRange("0.1.19", "0.1.20"),),
        when=("interleave", "without_aiter_compat"),
        effect="under fake tensors AITER's operator raises TypeError for gate_mode interleave; eager calls work",
        remedy="call through aiter_compat, whose own operator has its own fake",
        source="v0.1.19 to v0.1.19.post2 aiter/fused_moe.py fused_moe_fake",
    ),
)
