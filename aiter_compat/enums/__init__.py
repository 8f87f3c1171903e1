"""`GateMode`, `ActivationType` and `QuantType`: AITER's own classes where it can serve them, else twins."""

from aiter_compat.enums.names import activation_name, gate_mode_name, quant_type_name
from aiter_compat.enums.resolve import ENUM_NAMES, Resolution, enum_class, forget_enums, resolution

__all__ = [
    "ENUM_NAMES",
    "Resolution",
    "activation_name",
    "enum_class",
    "forget_enums",
    "gate_mode_name",
    "quant_type_name",
    "resolution",
]
