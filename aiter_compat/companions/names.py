"""Which symbol of AITER each companion stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Companion:
    """One function of AITER that hosts use around the MoE.

    Attributes:
        name: public name here.
        symbol: dotted path in AITER, of any release; moves are followed (`ac.locate`).
        on_any_device: plain torch code in AITER, which takes tensors of every device.
        same_everywhere: what it does is fixed to the byte, so that a release without it is no cause to warn.
    """

    name: str
    symbol: str
    on_any_device: bool = False
    same_everywhere: bool = False


_KERNELS = {
    "aiter.fused_moe": ("fused_topk", "moe_sorting"),
    "aiter.ops.moe_op": ("topk_softmax", "topk_sigmoid"),
    "aiter.ops.topk": ("topk_gating", "grouped_topk", "biased_grouped_topk"),
    "aiter.ops.quant": (
        *("per_1x32_f4_quant_hip", "per_1x32_mx_quant_hip", "per_token_quant_hip", "per_group_quant_hip"),
        *("per_tensor_quant_hip", "dynamic_per_tensor_quant", "dynamic_per_token_scaled_quant"),
        *("static_per_tensor_quant", "per_token_quant_triton", "per_tensor_quant_triton"),
    ),
    "aiter.ops.triton.quant": ("dynamic_mxfp4_quant",),
}
_TORCH_CODE = {"aiter.ops.quant": ("pertoken_quant", "per_tensor_quant", "per_1x32_f4_quant", "per_1x32_i4_quant")}
_LAYOUTS = {
    "aiter.ops.shuffle": (
        *("shuffle_weight", "shuffle_weight_a16w4", "shuffle_weight_NK", "moe_shuffle_weight"),
        *("shuffle_scale", "shuffle_scale_a16w4", "moe_shuffle_scale"),
        *("pack_int8_to_packed_int4", "shuffle_scale_for_int4"),
    ),
    "aiter.ops.triton.utils.shuffle": ("shuffle_scale_moe",),
    "aiter.utility.fp4_utils": ("e8m0_shuffle",),
}

COMPANIONS: Mapping[str, Companion] = {
    companion.name: companion
    for companion in (
        *(Companion(name, f"{module}.{name}") for module, names in _KERNELS.items() for name in names),
        Companion("dynamic_mxfp4_quant_shuffled", "aiter.utility.fp4_utils.dynamic_mxfp4_quant"),
        *(
            Companion(name, f"{module}.{name}", on_any_device=True)
            for module, names in _TORCH_CODE.items()
            for name in names
        ),
        *(
            Companion(name, f"{module}.{name}", on_any_device=True, same_everywhere=True)
            for module, names in _LAYOUTS.items()
            for name in names
        ),
    )
}
"""Name -> companion.

Two functions of AITER share the name dynamic_mxfp4_quant; the one that can shuffle has a row of its own here.
"""
