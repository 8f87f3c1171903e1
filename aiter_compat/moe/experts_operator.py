"""The registered operator that `torch.compile` sees in place of `fused_experts`.

An operator's schema holds tensors, numbers and strings, so the parts of `MoEWeights` travel one by one and the
configuration as text.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import torch

from aiter_compat.layer_config import MoEConfig
from aiter_compat.moe.experts import build_experts_call, check_kinds
from aiter_compat.moe.fronts import FUSED_EXPERTS
from aiter_compat.moe.operator import fake_of, traceable_numerics
from aiter_compat.moe.serving import serve_operator
from aiter_compat.weights import MoEWeights

_NAME = "aiter_compat::fused_experts"


def _fused_experts(
    hidden_states: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    w1_scale: torch.Tensor | None,
    w2_scale: torch.Tensor | None,
    bias1: torch.Tensor | None,
    bias2: torch.Tensor | None,
    layout: str,
    weight_format: str,
    topk_weights: torch.Tensor,
    topk_ids: torch.Tensor,
    config: str,
    expert_map: torch.Tensor | None,
    num_local_tokens: torch.Tensor | None,
    a1_scale: torch.Tensor | None,
    a2_scale: torch.Tensor | None,
    dtype: torch.dtype | None,
    padding_convention: str,
    backend: str,
    numerics: str | None,
) -> torch.Tensor:
    """`fused_experts` with the parts of its weights one by one and `config` as its `as_json`."""
    arguments = {
        "hidden_states": hidden_states,
        "weights": MoEWeights(w1, w2, w1_scale, w2_scale, bias1, bias2, layout, weight_format),
        "topk_weights": topk_weights,
        "topk_ids": topk_ids,
        "config": _config_of(config),
        "expert_map": expert_map,
        "num_local_tokens": num_local_tokens,
        "a1_scale": a1_scale,
        "a2_scale": a2_scale,
        "dtype": dtype,
        "padding_convention": padding_convention,
        "backend": backend,
        "numerics": numerics,
    }
    return serve_operator(FUSED_EXPERTS, arguments, build_experts_call)


fused_experts_operator = torch.library.custom_op(_NAME, _fused_experts, mutates_args=())
fused_experts_operator.register_fake(fake_of(_fused_experts))


def traced_fused_experts(
    hidden_states: torch.Tensor,
    weights: MoEWeights,
    topk_weights: torch.Tensor,
    topk_ids: torch.Tensor,
    config: MoEConfig,
    numerics: Any,
    **options: Any,
) -> torch.Tensor:
    """Call the operator while `torch.compile` traces.

    Raises:
        InvalidArgument: weights or configuration are of another kind, or a numerics profile was passed as an object,
            which an operator's schema cannot hold.
    """
    check_kinds(weights, config)
    result: torch.Tensor = fused_experts_operator(
        hidden_states,
        weights.w1,
        weights.w2,
        weights.w1_scale,
        weights.w2_scale,
        weights.bias1,
        weights.bias2,
        weights.layout,
        weights.weight_format,
        topk_weights,
        topk_ids,
        config.as_json,
        numerics=traceable_numerics(numerics),
        **options,
    )
    return result


@functools.lru_cache(maxsize=256)
def _config_of(text: str) -> MoEConfig:
    return MoEConfig(**json.loads(text))
