"""What hosts use of AITER around the MoE: routing, sorting, shuffles, quantisers, names.

Each function has AITER's name, arguments, result and in-place behaviour. On ROCm it is AITER's own, found wherever this
release has it; elsewhere, or where AITER is absent, foreign or broken, it is computed in torch.
"""

from aiter_compat.companions.architecture_name import get_gfx
from aiter_compat.companions.dtype_names import dtypes
from aiter_compat.companions.grouped_routing import biased_grouped_topk, grouped_topk
from aiter_compat.companions.int4_layouts import pack_int8_to_packed_int4, shuffle_scale_for_int4
from aiter_compat.companions.moe_scale_shuffle import shuffle_scale_moe
from aiter_compat.companions.mx_quantisers import (
    dynamic_mxfp4_quant,
    per_1x32_f4_quant,
    per_1x32_f4_quant_hip,
    per_1x32_i4_quant,
    per_1x32_mx_quant_hip,
)
from aiter_compat.companions.quantise_into import (
    dynamic_per_tensor_quant,
    dynamic_per_token_scaled_quant,
    static_per_tensor_quant,
)
from aiter_compat.companions.quantiser_choice import get_hip_quant, get_torch_quant, get_triton_quant
from aiter_compat.companions.row_quantisers import (
    per_group_quant_hip,
    per_tensor_quant,
    per_tensor_quant_hip,
    per_token_quant_hip,
    pertoken_quant,
)
from aiter_compat.companions.scale_shuffles import e8m0_shuffle, moe_shuffle_scale, shuffle_scale, shuffle_scale_a16w4
from aiter_compat.companions.token_sorting import moe_sorting
from aiter_compat.companions.topk_routing import fused_topk, topk_gating, topk_sigmoid, topk_softmax, topk_softplus
from aiter_compat.companions.weight_on_input import asm_moe_tkw1
from aiter_compat.companions.weight_shuffles import (
    moe_shuffle_weight,
    shuffle_weight,
    shuffle_weight_a16w4,
    shuffle_weight_NK,
)

__all__ = [
    "asm_moe_tkw1",
    "biased_grouped_topk",
    "dtypes",
    "dynamic_mxfp4_quant",
    "dynamic_per_tensor_quant",
    "dynamic_per_token_scaled_quant",
    "e8m0_shuffle",
    "fused_topk",
    "get_gfx",
    "get_hip_quant",
    "get_torch_quant",
    "get_triton_quant",
    "grouped_topk",
    "moe_shuffle_scale",
    "moe_shuffle_weight",
    "moe_sorting",
    "pack_int8_to_packed_int4",
    "per_1x32_f4_quant",
    "per_1x32_f4_quant_hip",
    "per_1x32_i4_quant",
    "per_1x32_mx_quant_hip",
    "per_group_quant_hip",
    "per_tensor_quant",
    "per_tensor_quant_hip",
    "per_token_quant_hip",
    "pertoken_quant",
    "shuffle_scale",
    "shuffle_scale_a16w4",
    "shuffle_scale_for_int4",
    "shuffle_scale_moe",
    "shuffle_weight",
    "shuffle_weight_NK",
    "shuffle_weight_a16w4",
    "static_per_tensor_quant",
    "topk_gating",
    "topk_sigmoid",
    "topk_softmax",
    "topk_softplus",
]
