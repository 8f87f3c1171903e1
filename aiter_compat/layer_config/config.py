"""`MoEConfig`: what a host knows about its layer."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import ClassVar, SupportsFloat, SupportsIndex

from aiter_compat.errors import InvalidArgument
from aiter_compat.layer_config.activations import HOST_ACTIVATIONS, HostActivation
from aiter_compat.layer_config.real_numbers import is_number
from aiter_compat.layer_config.weight_formats import WEIGHT_FORMATS, WeightFormat

ACTIVATION_FORMATS = (
    "mxfp4",
    "mxfp6_e2m3",
    "mxfp6_e3m2",
    "mxfp8",
    "mxfp8_e5m2",
    "fp8_cast",
    "fp8_tensor",
    "fp8_token",
    "fp8_1x128",
)
_MX_BLOCK = 32


@dataclass(frozen=True)
class MoEConfig:
    """Sizes, activation and formats of one MoE layer, as the checkpoint's config.json asks; sizes are per rank.

    Attributes:
        hidden_size: width of the hidden states as stored, padding included.
        intermediate_size: width of one gate or up half on this rank as stored, padding included.
        num_experts: experts in the whole layer (those of other ranks included).
        top_k: experts per token.
        hidden_size_unpadded: width that carries data; None: all of it.
        intermediate_size_unpadded: likewise for the intermediate size.
        intermediate_pad: overrides the derived intermediate pad (0 switches AITER's pad skipping off).
        tp_size: tensor-parallel ranks; matters to `resolve_padding(convention="vllm")` alone.
        activation: silu, gelu, gelu_tanh, swigluoai (checkpoint rows interleaved; AITER INTERLEAVE),
            swigluoai_uninterleave (rows separated; AITER SEPARATED; MiniMax-M3), swiglustep, situv2, relu2, or a
            `…_no_mul` form without an up projection.
        alpha: slope of SwiGLU-OAI; None: 1.702.
        beta: up shift of SwiGLU-OAI (None: 1.0), or SiTUv2's bound of the gate (None: 4.0).
        limit: clamp; None or 0.0: the activation's own (7.0 for SwiGLU-OAI and SwiGLU-step, none otherwise);
            `math.inf`: no clamp.
        gate_layout: "separated" or "interleaved" checkpoint rows; None: what the activation's checkpoints have.
        weight_format: mxfp4, mxfp6_e2m3, mxfp6_e3m2, mxfp8, mxfp8_e5m2, fp8_tensor, fp8_token, fp8_128x128, bf16, fp16.
        activation_format: format that activations are quantised to before both GEMMs; None: weight-only for MX
            formats and unquantised weights, the matching fp8 format for fp8 weights.
        exact_qdq: an AITER path that would use another activation format is not eligible.
        apply_router_weight_on_input: weight tokens before the first GEMM rather than after the second.
        linear_beta: SiTUv2's bound of the up projection; None: 25.0.

    Raises:
        InvalidArgument: a size, name or number is not allowed.
    """

    hidden_size: int
    intermediate_size: int
    num_experts: int
    top_k: int
    hidden_size_unpadded: int | None = None
    intermediate_size_unpadded: int | None = None
    intermediate_pad: int | None = None
    tp_size: int = 1
    activation: str = "silu"
    alpha: float | None = None
    beta: float | None = None
    limit: float | None = None
    gate_layout: str | None = None
    weight_format: str = "mxfp4"
    activation_format: str | None = None
    exact_qdq: bool = False
    apply_router_weight_on_input: bool = False
    linear_beta: float | None = None

    # Of each object; ClassVar keeps it from being a field. Written once, so that `torch.compile` reads a constant:
    # torch 2.11 cannot hand a frozen dataclass to a function that it does not trace.
    as_json: ClassVar[str]
    """The fields as JSON."""

    def __post_init__(self) -> None:
        for name in ("activation", "weight_format", "activation_format", "gate_layout"):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, value.lower())
        _choice("activation", self.activation, HOST_ACTIVATIONS)
        _choice("weight_format", self.weight_format, WEIGHT_FORMATS)
        if self.activation_format is not None:
            _choice("activation_format", self.activation_format, ("none", *ACTIVATION_FORMATS))
        if self.gate_layout is not None:
            _choice("gate_layout", self.gate_layout, ("separated", "interleaved"))
        for name in ("hidden_size", "intermediate_size", "num_experts", "top_k", "tp_size"):
            _whole(name, getattr(self, name), 1)
        if self.top_k > self.num_experts:
            raise InvalidArgument("top_k", self.top_k, f"1 to num_experts = {self.num_experts}")
        if self.weight.quant_type == "per_1x32":
            for name in ("hidden_size", "intermediate_size"):
                _blocks(name, getattr(self, name))
        _unpadded("hidden_size_unpadded", self.hidden_size_unpadded, self.hidden_size)
        _unpadded("intermediate_size_unpadded", self.intermediate_size_unpadded, self.intermediate_size)
        if self.intermediate_pad is not None:
            _whole("intermediate_pad", self.intermediate_pad, 0, self.intermediate_size - 1)
        for name in ("exact_qdq", "apply_router_weight_on_input"):
            _choice(name, getattr(self, name), (False, True))
        for name in ("alpha", "beta", "linear_beta"):
            number = getattr(self, name)
            if number is not None and not (is_number(number) and math.isfinite(number)):
                raise InvalidArgument(name, number, "None or a finite number")
        if self.limit is not None and not (is_number(self.limit) and self.limit >= 0.0):
            raise InvalidArgument(
                "limit", self.limit, "None, 0.0 (the activation's own), a positive number or math.inf"
            )
        object.__setattr__(self, "as_json", json.dumps(asdict(self), default=_builtin))

    @property
    def host_activation(self) -> HostActivation:
        """The row of the activation table."""
        return HOST_ACTIVATIONS[self.activation]

    @property
    def weight(self) -> WeightFormat:
        """The row of the weight-format table."""
        return WEIGHT_FORMATS[self.weight_format]

    @property
    def checkpoint_rows(self) -> str:
        """How the rows of w1 and bias1 lie in the checkpoint: "separated" or "interleaved"."""
        return self.gate_layout or self.host_activation.gate_layout

    @property
    def qdq(self) -> str:
        """The activation format that the checkpoint asks for, "none" for weight-only."""
        return self.activation_format or self.weight.default_qdq

    @property
    def gate_mode(self) -> str:
        """AITER's gate mode: weight-only MXFP4 always runs in the interleaved a16w4 layout."""
        if self.weight_format == "mxfp4" and self.qdq == "none" and self.host_activation.gated:
            return "interleave"
        return self.host_activation.gate_mode if self.weight.quant_type == "per_1x32" else "separated"


def _choice(argument: str, value: object, allowed: Iterable[object]) -> None:
    names = tuple(allowed)
    if value not in names:
        raise InvalidArgument(argument, value, ", ".join(str(name) for name in names))


def _builtin(number: SupportsIndex | SupportsFloat) -> int | float:
    """A number of another library, numpy's for example, as Python's own."""
    return operator.index(number) if isinstance(number, SupportsIndex) else float(number)


def _whole(argument: str, value: object, low: int, high: int | None = None) -> None:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        bounds = f"a whole number from {low} up" if high is None else f"a whole number from {low} to {high}"
        raise InvalidArgument(argument, value, bounds)


def _blocks(argument: str, value: int) -> None:
    if value % _MX_BLOCK:
        raise InvalidArgument(
            argument,
            value,
            f"a multiple of {_MX_BLOCK} (one e8m0 scale covers {_MX_BLOCK} elements)",
            f"Pad it with zero weights to {-(-value // _MX_BLOCK) * _MX_BLOCK} and say so in {argument}_unpadded.",
        )


def _unpadded(argument: str, value: int | None, padded: int) -> None:
    if value is not None:
        _whole(argument, value, 1, padded)
