"""Transformers' mixture-of-experts layers, run through aiter_compat by transformers' own plug-in point.

    from aiter_compat.hosts.transformers_experts import EXPERTS_NAME, quantise_experts, register

    register()
    model = AutoModelForCausalLM.from_pretrained(path, experts_implementation=EXPERTS_NAME)
    quantise_experts(model, checkpoint_formats(quantization_config))
    model.generate(...)

Transformers (`transformers.integrations.moe`, read at 5.24.0) calls a registered function with the experts
module, the hidden states [T, H], the chosen experts [T, k] and their weights [T, k]; flags on the module say
how its parameters lie. That is all this file adapts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

import aiter_compat as ac
from aiter_compat.errors import InvalidArgument
from aiter_compat.hosts.checkpoint_formats import CheckpointFormats

if TYPE_CHECKING:
    from torch import Tensor, nn

EXPERTS_NAME = "aiter_compat"
"""What to pass as `experts_implementation`."""

# Weights are quantised as Quark makes MXFP4 checkpoints. Its rule gives back a dequantised MXFP4 weight bit
# for bit; AITER's activation rule up to v0.1.15 does not: a block whose largest element is 6 gets twice the
# scale.
WEIGHT_NUMERICS = "quark"

_HELD = "_aiter_compat_experts"
_HIDDEN_ACTS = {"silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh"}
_CURVES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda gate: F.gelu(gate, approximate="tanh"),
}


@dataclass(frozen=True)
class HeldExperts:
    """What a quantised experts module needs at each call."""

    weights: ac.MoEWeights
    config: ac.MoEConfig
    expert_map: Tensor | None
    backend: str
    numerics: Any


def register() -> None:
    """Make "aiter_compat" a value of transformers' `experts_implementation`; may be called again."""
    ALL_EXPERTS_FUNCTIONS.register(EXPERTS_NAME, experts_forward)


def experts_forward(experts: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """The function that transformers calls in place of an experts module's forward.

    Args:
        experts: the module, prepared by `quantise_experts`.
        hidden_states: [T, H].
        top_k_index: [T, k] ids of this rank's experts; under expert parallelism also the id `num_experts`,
            which stands for "computed elsewhere".
        top_k_weights: [T, k].

    Returns:
        [T, H] in the dtype of `hidden_states`.

    Raises:
        InvalidArgument: `quantise_experts` has not seen this module.
    """
    held = held_experts(experts)
    return ac.fused_experts(
        hidden_states,
        held.weights,
        top_k_weights,
        top_k_index,
        config=held.config,
        expert_map=held.expert_map,
        backend=held.backend,
        numerics=held.numerics,
    )


def quantise_experts(
    model: nn.Module,
    formats: CheckpointFormats,
    *,
    backend: str = "auto",
    numerics: Any = None,
    exact_qdq: bool = False,
    only: Collection[str] | None = None,
) -> tuple[str, ...]:
    """Quantise every experts module of a model once, on the device where its parameters are.

    The quantised weights are kept beside the module's own parameters, which stay, so that another
    `experts_implementation` still runs; they do not follow a later `.to(device)`.

    Args:
        model: a transformers model (or an experts module itself).
        formats: what the checkpoint asks; its weight_format must be "mxfp4".
        backend: as in `aiter_compat.fused_experts`.
        numerics: arithmetic of the activations, as in `aiter_compat.fused_experts`.
        exact_qdq: as in `MoEConfig`; True keeps calls from an AITER that would take another format.
        only: names of the modules to quantise; None means all.

    Returns:
        Names of the modules that were quantised.

    Raises:
        InvalidArgument: no experts in the model, or experts that aiter_compat cannot reproduce exactly.
    """
    modules = {name: module for name, module in model.named_modules() if hasattr(module, "_is_expert_parallel")}
    chosen = {name: module for name, module in modules.items() if only is None or name in only}
    if not chosen:
        raise InvalidArgument(
            "model",
            type(model).__name__,
            "a transformers model with experts",
            f"Experts found: {list(modules)}.",
        )
    for experts in chosen.values():
        config = moe_config(experts, formats, exact_qdq=exact_qdq)
        weights = _quantised(experts, config, backend)
        setattr(experts, _HELD, HeldExperts(weights, config, _expert_map(experts, config), backend, numerics))
    return tuple(chosen)


def held_experts(experts: Any) -> HeldExperts:
    """What `quantise_experts` left on this module.

    Raises:
        InvalidArgument: it has not seen this module.
    """
    held = getattr(experts, _HELD, None)
    if held is None:
        raise InvalidArgument(
            "experts",
            f"{type(experts).__name__} with parameters that are not quantised",
            "a module that quantise_experts has seen",
            "Call quantise_experts(model, formats) once, before the first forward.",
        )
    return held  # type: ignore[no-any-return]  # only quantise_experts sets it


def moe_config(experts: Any, formats: CheckpointFormats, *, exact_qdq: bool = False) -> ac.MoEConfig:
    """What aiter_compat has to know of an experts module, read from its flags, attributes and config.

    Args:
        experts: an experts module of transformers.
        formats: what the checkpoint asks.
        exact_qdq: as in `MoEConfig`.

    Raises:
        InvalidArgument: a module without gate, with a norm after each expert, of an unknown activation, or
            whose own gate function differs from the activation that its attributes name.
    """
    kind = type(experts).__name__
    if not experts.has_gate:
        raise InvalidArgument("experts", f"{kind} without a gate", "gated experts")
    if experts.has_post_expert_norm:
        raise InvalidArgument("experts", f"{kind} with a norm after each expert", "experts without one")
    if formats.weight_format != "mxfp4":
        raise InvalidArgument("formats", formats.weight_format, "weight_format 'mxfp4'")

    count, first, second = _local(experts.gate_up_proj).shape
    hidden, doubled = (first, second) if experts.is_transposed else (second, first)
    top_k = experts.config.num_experts_per_tok
    alpha = _first_attribute(experts, "alpha", "swiglu_alpha")
    limit = _first_attribute(experts, "limit", "swiglu_limit")
    layout = "separated" if experts.is_concatenated else "interleaved"
    if alpha is not None:
        activation = "swigluoai_uninterleave" if experts.is_concatenated else "swigluoai"
        limit = math.inf if limit is None else limit  # None would mean 7.0 here, not "no limit"
    else:
        hidden_act = getattr(experts.config, "hidden_act", None)
        if hidden_act not in _HIDDEN_ACTS:
            raise InvalidArgument(
                "experts", f"{kind} with hidden_act={hidden_act!r}", f"hidden_act {', '.join(_HIDDEN_ACTS)}"
            )
        activation = _HIDDEN_ACTS[hidden_act]
    _check_gate(experts, activation, alpha, limit)
    return ac.MoEConfig(
        hidden_size=hidden,
        intermediate_size=doubled // 2,
        # Under expert parallelism ids are local, and those from `count` on mean "elsewhere".
        num_experts=max(count, top_k) + 1 if experts._is_expert_parallel else count,
        top_k=top_k,
        activation=activation,
        alpha=alpha,
        limit=limit,
        gate_layout=layout,
        weight_format=formats.weight_format,
        activation_format=formats.activation_format,
        exact_qdq=exact_qdq,
    )


def _check_gate(experts: Any, activation: str, alpha: float | None, limit: float | None) -> None:
    """Compare the module's own gate function with the activation read from its attributes, on a few values.

    Attributes of the same names mean different things in different models; the function itself does not lie.
    """
    reach = 2.0 * (limit if limit and math.isfinite(limit) else 4.0)
    gate = torch.linspace(-reach, reach, 64)
    up = gate.roll(17).flip(0)
    rows = torch.cat([gate, up]) if experts.is_concatenated else torch.stack([gate, up], dim=-1).flatten()
    with torch.no_grad():
        own = experts._apply_gate(rows.to(_local(experts.gate_up_proj).device)).cpu()
    if limit is not None:
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    named = gate * torch.sigmoid(alpha * gate) * (up + 1) if alpha is not None else _CURVES[activation](gate) * up
    if own.shape != named.shape or not torch.allclose(own, named, rtol=1e-4, atol=1e-4):
        raise InvalidArgument(
            "experts",
            f"{type(experts).__name__}, whose gate is not {activation} with alpha={alpha}, limit={limit}",
            "experts whose gate is the activation that their attributes name",
            "Run these experts with another experts_implementation.",
        )


def _expert_map(experts: Any, config: ac.MoEConfig) -> Tensor | None:
    """Local ids for this rank's experts and -1 for the ids that mean "elsewhere"; None without such ids."""
    if not experts._is_expert_parallel:
        return None
    local = _local(experts.gate_up_proj)
    ids = torch.arange(config.num_experts, dtype=torch.int32, device=local.device)
    return ids.masked_fill(ids >= len(local), -1)


def _quantised(experts: Any, config: ac.MoEConfig, backend: str) -> ac.MoEWeights:
    w1, w1_scale = _quantised_rows(experts.gate_up_proj, experts.is_transposed)
    w2, w2_scale = _quantised_rows(experts.down_proj, experts.is_transposed)
    return ac.prepare_weights(
        w1,
        w2,
        w1_scale,
        w2_scale,
        config=config,
        bias1=_local(experts.gate_up_proj_bias).detach() if experts.has_bias else None,
        bias2=_local(experts.down_proj_bias).detach() if experts.has_bias else None,
        backend=backend,
    )


def _quantised_rows(parameter: Tensor, is_transposed: bool) -> tuple[Tensor, Tensor]:
    """MXFP4 codes [E, N, K/2] and scales [E, N, K/32] of a parameter [E, N, K] ([E, K, N] if transposed)."""
    weights = _local(parameter).detach()
    weights = weights.transpose(1, 2) if is_transposed else weights
    # One expert at a time: quantising needs several float32 copies of what it is given.
    parts = [ac.quantize(expert.contiguous(), "mxfp4", numerics=WEIGHT_NUMERICS) for expert in weights]
    return torch.stack([part.codes for part in parts]), torch.stack([part.scales for part in parts])


def _local(parameter: Any) -> Tensor:
    """This rank's part of a parameter; under expert parallelism transformers shards it as a DTensor."""
    part: Tensor = parameter.to_local() if hasattr(parameter, "to_local") else parameter
    return part


def _first_attribute(experts: Any, *names: str) -> float | None:
    values = (getattr(experts, name, None) for name in names)
    return next((float(value) for value in values if value is not None), None)
