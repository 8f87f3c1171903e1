"""Which formats a checkpoint's `quantization_config` asks of its experts.

Two spellings are in use for MXFP4 mixtures of experts: `quant_method: mxfp4` (gpt-oss: weights only,
activations stay as they are) and `quant_method: quark` (AMD's checkpoints, such as MiniMax-M3-MXFP4: weight
and input tensors are described one by one). What this reader does not understand is refused, because a format
guessed wrongly computes plausible nonsense.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiter_compat.errors import InvalidArgument

_MX_BLOCK = 32
# Quark's (dtype, qscheme) of a tensor -> the name of the format in aiter_compat.
_QUARK_FORMATS = {
    ("fp4", "per_group"): "mxfp4",
    ("fp6_e2m3", "per_group"): "mxfp6_e2m3",
    ("fp6_e3m2", "per_group"): "mxfp6_e3m2",
    ("fp8_e4m3", "per_group"): "mxfp8",
    ("fp8_e4m3", "per_tensor"): "fp8_tensor",
}


@dataclass(frozen=True)
class CheckpointFormats:
    """Formats of an expert layer, as `MoEConfig` names them.

    Attributes:
        weight_format: of both expert matrices, such as "mxfp4".
        activation_format: of the input of both GEMMs; None leaves activations alone (w4a16).
    """

    weight_format: str
    activation_format: str | None

    def __str__(self) -> str:
        return f"weights {self.weight_format}, activations {self.activation_format or 'as they are'}"


def checkpoint_formats(quantization_config: Mapping[str, Any]) -> CheckpointFormats:
    """Read the `quantization_config` entry of a checkpoint's `config.json`.

    Args:
        quantization_config: the parsed dictionary, of quant_method "mxfp4" or "quark".

    Raises:
        InvalidArgument: a method, a tensor description or a rule for single layers that is not known here.
    """
    method = quantization_config.get("quant_method")
    if method == "mxfp4":
        return CheckpointFormats(weight_format="mxfp4", activation_format=None)
    if method == "quark":
        return _quark_formats(quantization_config)
    raise InvalidArgument(
        "quantization_config",
        f"quant_method={method!r}",
        "quant_method 'mxfp4' or 'quark'",
        "Name the formats yourself: CheckpointFormats(weight_format=..., activation_format=...).",
    )


def _quark_formats(quantization_config: Mapping[str, Any]) -> CheckpointFormats:
    # A rule for single layers may be about experts: applying the global one to all of them would be a guess.
    exceptions = list(quantization_config.get("layer_quant_config") or {})
    exceptions += [name for name in quantization_config.get("exclude") or () if "experts" in name]
    if exceptions:
        raise InvalidArgument(
            "quantization_config",
            f"rules for single layers ({', '.join(exceptions)})",
            "one rule for every expert layer",
            "Quantise those layers by name: CheckpointFormats and quantise_experts(model, only=...).",
        )
    rules = quantization_config.get("global_quant_config") or {}
    weight, inputs = rules.get("weight"), rules.get("input_tensors")
    if weight is None:
        raise InvalidArgument("quantization_config", "no global_quant_config.weight", "a description of the weights")
    return CheckpointFormats(
        weight_format=_quark_format("weight", weight),
        activation_format=None if inputs is None else _quark_format("input_tensors", inputs),
    )


def _quark_format(tensor: str, description: Mapping[str, Any]) -> str:
    scheme = (str(description.get("dtype")), str(description.get("qscheme")))
    name = _QUARK_FORMATS.get(scheme)
    blocked = scheme[1] == "per_group"
    if name is None or (blocked and description.get("group_size") != _MX_BLOCK):
        raise InvalidArgument(
            "quantization_config",
            f"{tensor} with dtype={scheme[0]!r}, qscheme={scheme[1]!r}, group_size={description.get('group_size')!r}",
            f"{', '.join(f'{dtype} {qscheme}' for dtype, qscheme in _QUARK_FORMATS)}; group_size {_MX_BLOCK}",
        )
    return name
