from enum import Enum

from aiter_compat._version import __version__ as __version__
from aiter_compat.companions import asm_moe_tkw1 as asm_moe_tkw1
from aiter_compat.companions import biased_grouped_topk as biased_grouped_topk
from aiter_compat.companions import dtypes as dtypes
from aiter_compat.companions import dynamic_mxfp4_quant as dynamic_mxfp4_quant
from aiter_compat.companions import dynamic_per_tensor_quant as dynamic_per_tensor_quant
from aiter_compat.companions import dynamic_per_token_scaled_quant as dynamic_per_token_scaled_quant
from aiter_compat.companions import e8m0_shuffle as e8m0_shuffle
from aiter_compat.companions import fused_topk as fused_topk
from aiter_compat.companions import get_gfx as get_gfx
from aiter_compat.companions import get_hip_quant as get_hip_quant
from aiter_compat.companions import get_torch_quant as get_torch_quant
from aiter_compat.companions import get_triton_quant as get_triton_quant
from aiter_compat.companions import grouped_topk as grouped_topk
from aiter_compat.companions import moe_shuffle_scale as moe_shuffle_scale
from aiter_compat.companions import moe_shuffle_weight as moe_shuffle_weight
from aiter_compat.companions import moe_sorting as moe_sorting
from aiter_compat.companions import pack_int8_to_packed_int4 as pack_int8_to_packed_int4
from aiter_compat.companions import per_1x32_f4_quant as per_1x32_f4_quant
from aiter_compat.companions import per_1x32_f4_quant_hip as per_1x32_f4_quant_hip
from aiter_compat.companions import per_1x32_i4_quant as per_1x32_i4_quant
from aiter_compat.companions import per_1x32_mx_quant_hip as per_1x32_mx_quant_hip
from aiter_compat.companions import per_group_quant_hip as per_group_quant_hip
from aiter_compat.companions import per_tensor_quant as per_tensor_quant
from aiter_compat.companions import per_tensor_quant_hip as per_tensor_quant_hip
from aiter_compat.companions import per_token_quant_hip as per_token_quant_hip
from aiter_compat.companions import pertoken_quant as pertoken_quant
from aiter_compat.companions import shuffle_scale as shuffle_scale
from aiter_compat.companions import shuffle_scale_a16w4 as shuffle_scale_a16w4
from aiter_compat.companions import shuffle_scale_for_int4 as shuffle_scale_for_int4
from aiter_compat.companions import shuffle_scale_moe as shuffle_scale_moe
from aiter_compat.companions import shuffle_weight as shuffle_weight
from aiter_compat.companions import shuffle_weight_a16w4 as shuffle_weight_a16w4
from aiter_compat.companions import shuffle_weight_NK as shuffle_weight_NK
from aiter_compat.companions import static_per_tensor_quant as static_per_tensor_quant
from aiter_compat.companions import topk_gating as topk_gating
from aiter_compat.companions import topk_sigmoid as topk_sigmoid
from aiter_compat.companions import topk_softmax as topk_softmax
from aiter_compat.companions import topk_softplus as topk_softplus
from aiter_compat.detect import Installation as Installation
from aiter_compat.detect import installation as installation
from aiter_compat.enums.twins import TwinEnum
from aiter_compat.errors import AiterCallError as AiterCallError
from aiter_compat.errors import AiterCompatError as AiterCompatError
from aiter_compat.errors import AiterImportError as AiterImportError
from aiter_compat.errors import ContractChanged as ContractChanged
from aiter_compat.errors import InvalidArgument as InvalidArgument
from aiter_compat.errors import LayoutUnknown as LayoutUnknown
from aiter_compat.errors import RecordError as RecordError
from aiter_compat.errors import SettingsError as SettingsError
from aiter_compat.errors import UnsupportedByAiter as UnsupportedByAiter
from aiter_compat.errors import UnsupportedByEmulation as UnsupportedByEmulation
from aiter_compat.features import Capability as Capability
from aiter_compat.features import active_surface as surface
from aiter_compat.features import capabilities as capabilities
from aiter_compat.features import supports as supports
from aiter_compat.formats import Quantized as Quantized
from aiter_compat.formats import dequantize as dequantize
from aiter_compat.formats import qdq as qdq
from aiter_compat.formats import quantize as quantize
from aiter_compat.layer_config import MoEConfig as MoEConfig
from aiter_compat.moe import Decision as Decision
from aiter_compat.moe import Rejection as Rejection
from aiter_compat.moe import explain as explain
from aiter_compat.moe import fused_experts as fused_experts
from aiter_compat.moe import fused_moe as fused_moe
from aiter_compat.moe import prepare_weights as prepare_weights
from aiter_compat.padding import Padding as Padding
from aiter_compat.padding import resolve_padding as resolve_padding
from aiter_compat.probe import Surface as Surface
from aiter_compat.profiles import NumericsProfile as NumericsProfile
from aiter_compat.profiles import profile as numerics
from aiter_compat.refreshing import refresh as refresh
from aiter_compat.symbols import load as load
from aiter_compat.symbols import locate as locate
from aiter_compat.warning_types import AiterCompatWarning as AiterCompatWarning
from aiter_compat.weights import MoEWeights as MoEWeights

__all__ = [
    "ActivationType",
    "AiterCallError",
    "AiterCompatError",
    "AiterCompatWarning",
    "AiterImportError",
    "Capability",
    "ContractChanged",
    "Decision",
    "GateMode",
    "Installation",
    "InvalidArgument",
    "LayoutUnknown",
    "MoEConfig",
    "MoEWeights",
    "NumericsProfile",
    "Padding",
    "QuantType",
    "Quantized",
    "RecordError",
    "Rejection",
    "SettingsError",
    "Surface",
    "UnsupportedByAiter",
    "UnsupportedByEmulation",
    "__version__",
    "asm_moe_tkw1",
    "biased_grouped_topk",
    "capabilities",
    "dequantize",
    "dtypes",
    "dynamic_mxfp4_quant",
    "dynamic_per_tensor_quant",
    "dynamic_per_token_scaled_quant",
    "e8m0_shuffle",
    "explain",
    "fused_experts",
    "fused_moe",
    "fused_topk",
    "get_gfx",
    "get_hip_quant",
    "get_torch_quant",
    "get_triton_quant",
    "grouped_topk",
    "installation",
    "load",
    "locate",
    "moe_shuffle_scale",
    "moe_shuffle_weight",
    "moe_sorting",
    "numerics",
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
    "prepare_weights",
    "qdq",
    "quantize",
    "refresh",
    "resolve_padding",
    "shuffle_scale",
    "shuffle_scale_a16w4",
    "shuffle_scale_for_int4",
    "shuffle_scale_moe",
    "shuffle_weight",
    "shuffle_weight_NK",
    "shuffle_weight_a16w4",
    "static_per_tensor_quant",
    "supports",
    "surface",
    "topk_gating",
    "topk_sigmoid",
    "topk_softmax",
    "topk_softplus",
]

class GateMode(str, Enum):
    SEPARATED = "separated"
    MOCK_GATE_ONLY = "mock_gate_only"
    GATE_ONLY = "gate_only"
    INTERLEAVE = "interleave"

class ActivationType(TwinEnum):
    No: ActivationType
    Silu: ActivationType
    Gelu: ActivationType
    Swiglu: ActivationType
    Situv2: ActivationType

class QuantType(TwinEnum):
    No: QuantType
    per_Tensor: QuantType  # noqa: N815 - AITER's name
    per_Token: QuantType  # noqa: N815 - AITER's name
    per_1x32: QuantType
    per_1x128: QuantType
    per_128x128: QuantType
    per_256x128: QuantType
    per_1024x128: QuantType
