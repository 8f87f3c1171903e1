from enum import Enum

from aiter_compat._version import __version__ as __version__
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
    "capabilities",
    "dequantize",
    "explain",
    "fused_experts",
    "fused_moe",
    "installation",
    "load",
    "locate",
    "numerics",
    "prepare_weights",
    "qdq",
    "quantize",
    "refresh",
    "resolve_padding",
    "supports",
    "surface",
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
