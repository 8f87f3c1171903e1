"""Biases and routing weights that kernels drop, and what a weight of zero does."""

from __future__ import annotations

from aiter_compat.quirks.model import Quirk
from aiter_compat.releases import ReleaseRange

ROWS: tuple[Quirk, ...] = (
    Quirk(
        name="doweight_stage1_ignored",
        ranges=(ReleaseRange(None, None),),
        outcome="lost",
        when=("doweight_stage1",),
        effect="CK-Tile's gate/up epilogue and FlyDSL split-K never apply the routing weight in stage 1",
        remedy="weight the hidden states before the call, or use the emulation",
        source="v0.1.15.post3 aiter/fused_moe.py",
        activations=("swiglu",),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="bias_ignored",
        ranges=(ReleaseRange(None, None),),
        outcome="lost",
        when=("bias",),
        effect="bias1 and bias2 reach the kernels of per_1x32 weights alone; for other quant types they are dropped",
        remedy="use the emulation",
        source="v0.1.9 to v0.1.20.post1 aiter/fused_moe.py fused_moe_2stages",
        quant_types=("no", "per_tensor", "per_token", "per_1x128", "per_128x128", "per_256x128", "per_1024x128"),
    ),
    Quirk(
        name="bias_ignored_without_swiglu",
        ranges=(ReleaseRange(None, None),),
        outcome="lost",
        when=("bias",),
        effect="with SiLU and GELU, CK and CK-Tile stages never receive bias1 and bias2",
        remedy="use the emulation",
        source="v0.1.9 to v0.1.20.post1 aiter/fused_moe.py (has_bias)",
        activations=("silu", "gelu", "gelu_tanh"),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="zero_weight_makes_zero_row",
        ranges=(ReleaseRange("0.1.15.post3", "0.1.16"), ReleaseRange("0.1.16.post2", None)),
        when=("mx_activations", "mxfp4_weights"),
        effect="a slot whose routing weight is exactly 0.0 has its activations quantised to zero, Inf and NaN included",
        remedy="give padded tokens the weight 0.0",
        source="ROCm/aiter#3677; v0.1.15.post3 and v0.1.16.post2 csrc/kernels/quant_kernels.cu",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="padded_tokens_spread_nan",
        ranges=(ReleaseRange(None, "0.1.15.post3"), ReleaseRange("0.1.16", "0.1.16.post2")),
        when=("mx_activations", "mxfp4_weights"),
        effect="NaN or Inf in a padded token reaches the output although its routing weight is 0.0",
        remedy="fill padded tokens with zeros before the call",
        source="ROCm/aiter#3677; v0.1.15 and v0.1.16 csrc/kernels/quant_kernels.cu",
        quant_types=("per_1x32",),
    ),
)
