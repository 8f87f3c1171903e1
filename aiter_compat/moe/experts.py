"""`fused_experts`: the host-level call, in terms of a layer's configuration."""

from __future__ import annotations

from typing import Any

import torch

from aiter_compat.backends.moe_call import MoECall
from aiter_compat.errors import InvalidArgument
from aiter_compat.layer_config import MoEConfig
from aiter_compat.moe.build import build_call
from aiter_compat.moe.experts_map import map_in_order
from aiter_compat.moe.fronts import FUSED_EXPERTS
from aiter_compat.moe.numbers import activation_numbers
from aiter_compat.moe.operator import needs_operator
from aiter_compat.moe.serving import serve
from aiter_compat.padding import check_convention, resolve_padding
from aiter_compat.profiles import NumericsProfile
from aiter_compat.weights import MoEWeights


@FUSED_EXPERTS.before
def fused_experts(
    hidden_states: torch.Tensor,
    weights: MoEWeights,
    topk_weights: torch.Tensor,
    topk_ids: torch.Tensor,
    *,
    config: MoEConfig,
    expert_map: torch.Tensor | None = None,
    num_local_tokens: torch.Tensor | None = None,
    a1_scale: torch.Tensor | None = None,
    a2_scale: torch.Tensor | None = None,
    dtype: torch.dtype | None = None,
    padding_convention: str = "aiter",
    backend: str = "auto",
    numerics: NumericsProfile | str | None = None,
) -> torch.Tensor:
    """Run one MoE layer's experts as its configuration asks.

    On AITER the release chooses the activation format by itself, and that choice is accepted and reported
    (`ac.explain`), unless `config.exact_qdq`. The emulation always applies what `config.activation_format` asks.

    Args:
        hidden_states: [M, hidden_size] bf16, fp16 or fp32.
        weights: from `ac.prepare_weights`.
        topk_weights: [M, top_k], converted to fp32.
        topk_ids: [M, top_k] global expert ids, converted to int32.
        config: the layer.
        expert_map: [experts of all ranks] local id or -1, for expert parallelism. A 0/1 mask is refused.
        num_local_tokens: [1] int32, rows that count.
        a1_scale: static activation scale of fp8 layers.
        a2_scale: likewise for the intermediate activations.
        dtype: of the result; None: that of hidden_states.
        padding_convention: "aiter" or "vllm", see `ac.resolve_padding`.
        backend: as in `ac.fused_moe`.
        numerics: as in `ac.fused_moe`.

    Returns:
        [M, hidden_size].

    Raises:
        AiterCompatError: as `ac.fused_moe`; InvalidArgument also where weights and configuration disagree.
    """
    arguments: dict[str, Any] = {
        "hidden_states": hidden_states,
        "weights": weights,
        "topk_weights": topk_weights,
        "topk_ids": topk_ids,
        "config": config,
        "expert_map": expert_map,
        "num_local_tokens": num_local_tokens,
        "a1_scale": a1_scale,
        "a2_scale": a2_scale,
        "dtype": dtype,
        "padding_convention": padding_convention,
        "backend": backend,
        "numerics": numerics,
    }
    if needs_operator(hidden_states):
        from aiter_compat.moe.experts_operator import traced_fused_experts

        return traced_fused_experts(**arguments)
    return serve(FUSED_EXPERTS, arguments, build_experts_call)


def build_experts_call(
    hidden_states: torch.Tensor,
    weights: MoEWeights,
    topk_weights: torch.Tensor,
    topk_ids: torch.Tensor,
    *,
    config: MoEConfig,
    expert_map: torch.Tensor | None,
    padding_convention: str,
    **options: Any,
) -> MoECall:
    """The checked call of `fused_experts`.

    Raises:
        InvalidArgument: the first argument that does not fit.
    """
    check_kinds(weights, config)
    _check_agreement(weights, config, topk_ids, expert_map)
    check_convention("padding_convention", padding_convention)
    padding = resolve_padding(config, padding_convention)
    in_order = expert_map is None or map_in_order(expert_map, weights.w1.shape[0], config.num_experts)
    host = config.host_activation
    return build_call(
        hidden_states,
        weights.w1,
        weights.w2,
        topk_weights,
        topk_ids,
        activation=host.function,
        numbers=activation_numbers(
            host.function,
            gated=host.gated,
            limit=config.limit,
            alpha=config.alpha,
            beta=config.beta,
            linear_beta=config.linear_beta,
            limit_argument="config.limit",
        ),
        quant_type=config.weight.quant_type,
        weight_format=config.weight.stored,
        gate_mode=config.gate_mode,
        swiglu_limit=None,
        beta=None,
        linear_beta=None,
        hidden_pad=padding.hidden_pad,
        intermediate_pad=padding.intermediate_pad,
        block_size_M=None,
        activation_qdq=config.qdq,
        qdq_asked_by="MoEConfig.activation_format",
        qdq_is_binding=config.exact_qdq,
        weight_layout=weights.layout,
        w1_scale=weights.w1_scale,
        w2_scale=weights.w2_scale,
        bias1=weights.bias1,
        bias2=weights.bias2,
        expert_map=expert_map,
        expert_map_in_order=in_order,
        notes=(f"pads: {padding.reason}",) if padding.masks_live_rows or config.intermediate_pad is not None else (),
        doweight_stage1=config.apply_router_weight_on_input,
        **options,
    )


def check_kinds(weights: object, config: object) -> None:
    """Refuse bare tensors and other configurations.

    Raises:
        InvalidArgument: `weights` are no `MoEWeights`, or `config` is no `MoEConfig`.
    """
    if not isinstance(weights, MoEWeights):
        raise InvalidArgument("weights", type(weights).__name__, "MoEWeights, from ac.prepare_weights(...)")
    if not isinstance(config, MoEConfig):
        raise InvalidArgument("config", type(config).__name__, "MoEConfig")


def _check_agreement(weights: MoEWeights, config: MoEConfig, topk_ids: object, expert_map: torch.Tensor | None) -> None:
    if weights.weight_format != config.weight_format:
        raise InvalidArgument("weights", f"{weights.weight_format} weights", f"{config.weight_format}, as config says")
    per_byte = max(config.weight.codes_per_byte, 1)
    columns = (weights.w1.shape[2] * per_byte, weights.w2.shape[2] * per_byte)
    if columns != (config.hidden_size, config.intermediate_size):
        raise InvalidArgument(
            "weights",
            f"hidden {columns[0]} and intermediate {columns[1]}",
            f"hidden_size {config.hidden_size} and intermediate_size {config.intermediate_size} of config",
        )
    if isinstance(topk_ids, torch.Tensor) and topk_ids.dim() == 2 and topk_ids.shape[1] != config.top_k:
        raise InvalidArgument("topk_ids", f"{topk_ids.shape[1]} experts per token", f"top_k {config.top_k} of config")
    experts = weights.w1.shape[0]
    if expert_map is None and experts != config.num_experts:
        raise InvalidArgument(
            "weights",
            f"{experts} experts",
            f"num_experts {config.num_experts} of config, or an expert_map for expert parallelism",
        )
