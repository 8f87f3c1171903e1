"""The host models of the demo: transformers' own classes, small, with seeded weights.

The weights are noise of a chosen size: large enough in the experts that the limit of SwiGLU-OAI is at work,
and that what the experts compute matters to the logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GptOssConfig, GptOssForCausalLM
from transformers.models.minimax_m3_vl.configuration_minimax_m3_vl import MiniMaxM3VLTextConfig
from transformers.models.minimax_m3_vl.modeling_minimax_m3_vl import MiniMaxM3VLForCausalLM

from aiter_compat.demo.reference import Rules

# Sizes that every AITER weight layout accepts (its a16w4 scales need rows of a multiple of 256).
HIDDEN = 256
INTERMEDIATE = 256
EXPERTS = 8
TOP_K = 4

# A gate or up value of a normalised token then has a standard deviation of about 5, so that a limit of 7
# clamps roughly one value in eight.
GATE_UP_DEVIATION = 5.0 / math.sqrt(HIDDEN)
# And the experts add more to the residual stream than is in it, so that their errors reach the logits.
DOWN_DEVIATION = 0.15 / math.sqrt(INTERMEDIATE)
BIAS_DEVIATION = 0.5

_QUARK_FP4 = {"dtype": "fp4", "qscheme": "per_group", "group_size": 32, "scale_format": "e8m0"}


@dataclass(frozen=True)
class HostModel:
    """One job of the demo.

    Attributes:
        name: what `--model` takes.
        title: what a person reads.
        about: what is special about such a checkpoint.
        build: (vocabulary size) -> the model, in bfloat16, its weights not yet seeded.
        quantization_config: as in the config.json of such a checkpoint, cut to what is read of it.
        activation_format: overrides what the config asks; None takes the config's word.
        rules: the same facts in the words of the reference, written by hand and not read from the module.
        seed: of the weights.
    """

    name: str
    title: str
    about: str
    build: Callable[[int], Any]
    quantization_config: Mapping[str, Any]
    activation_format: str | None
    rules: Rules
    seed: int


def build(host: HostModel, vocabulary: int) -> Any:
    """The model in evaluation mode with its seeded weights; the same weights on every run."""
    model = host.build(vocabulary).eval()
    generator = torch.Generator().manual_seed(host.seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            deviation = _deviation(name, parameter)
            if deviation is not None:
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(noise.mul_(deviation))
    return model


def _deviation(name: str, parameter: torch.Tensor) -> float | None:
    """Standard deviation of a parameter, or None for a norm, which stays as it was built."""
    if parameter.ndim == 1:
        return None if "norm" in name else 0.1
    if "experts.gate_up_proj_bias" in name:
        return BIAS_DEVIATION
    if "experts.down_proj_bias" in name:
        return BIAS_DEVIATION / 4
    if "experts.gate_up_proj" in name:
        return GATE_UP_DEVIATION
    if "experts.down_proj" in name:
        return DOWN_DEVIATION
    if "embed_tokens" in name:
        return 1.0
    return 1.0 / math.sqrt(parameter.shape[-1])


def _gpt_oss(vocabulary: int) -> Any:
    config = GptOssConfig(
        vocab_size=vocabulary,
        hidden_size=HIDDEN,
        intermediate_size=INTERMEDIATE,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        num_local_experts=EXPERTS,
        num_experts_per_tok=TOP_K,
    )
    return GptOssForCausalLM._from_config(config, dtype=torch.bfloat16)


def _minimax_m3(vocabulary: int) -> Any:
    # Like the checkpoint: a dense layer first, then experts beside a shared one, and sparse attention.
    config = MiniMaxM3VLTextConfig(
        vocab_size=vocabulary,
        hidden_size=HIDDEN,
        intermediate_size=INTERMEDIATE,
        dense_intermediate_size=2 * INTERMEDIATE,
        shared_intermediate_size=INTERMEDIATE,
        num_hidden_layers=3,
        mlp_layer_types=["dense", "sparse", "sparse"],
        layer_types=["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"],
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        rotary_dim=32,
        index_n_heads=2,
        index_head_dim=64,
        num_local_experts=EXPERTS,
        num_experts_per_tok=TOP_K,
        max_position_embeddings=4096,
        bos_token_id=None,
        eos_token_id=None,
    )
    return MiniMaxM3VLForCausalLM._from_config(config, dtype=torch.bfloat16)


HOST_MODELS = (
    HostModel(
        name="gpt-oss",
        title="gpt-oss (GptOssForCausalLM), weights only: w4a16",
        about="gate and up rows alternate, biases too; the config quantises weights only",
        build=_gpt_oss,
        quantization_config={"quant_method": "mxfp4"},
        activation_format=None,
        rules=Rules(rows="interleaved", transposed=True, qdq=None, alpha=1.702, limit=7.0),
        seed=20,
    ),
    HostModel(
        name="gpt-oss-a8",
        title="gpt-oss (GptOssForCausalLM), mxfp8 activations: w4a8",
        about="the same, as AITER serves it on gfx950 from 256 tokens on: activations become mxfp8",
        build=_gpt_oss,
        quantization_config={"quant_method": "mxfp4"},
        activation_format="mxfp8",
        rules=Rules(rows="interleaved", transposed=True, qdq="mxfp8", alpha=1.702, limit=7.0),
        seed=20,
    ),
    HostModel(
        name="minimax-m3",
        title="MiniMax-M3 (MiniMaxM3VLForCausalLM), mxfp4 activations: w4a4",
        about="rows lie [gate; up]; the config quantises activations to mxfp4 too",
        build=_minimax_m3,
        quantization_config={
            "quant_method": "quark",
            "global_quant_config": {
                "weight": {**_QUARK_FP4, "is_dynamic": False},
                "input_tensors": {**_QUARK_FP4, "is_dynamic": True},
            },
        },
        activation_format=None,
        rules=Rules(rows="separated", transposed=False, qdq="mxfp4", alpha=1.702, limit=7.0),
        seed=30,
    ),
)
