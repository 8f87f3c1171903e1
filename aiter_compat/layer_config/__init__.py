"""What a host knows about one MoE layer: `MoEConfig` and the tables its names are checked against."""

from aiter_compat.layer_config.activations import HOST_ACTIVATIONS, HostActivation
from aiter_compat.layer_config.config import MoEConfig
from aiter_compat.layer_config.weight_formats import WEIGHT_FORMATS, WeightFormat

__all__ = ["HOST_ACTIVATIONS", "WEIGHT_FORMATS", "HostActivation", "MoEConfig", "WeightFormat"]
