"""Run one host model through aiter_compat and through the dense reference: how far are they apart?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import torch
from torch import Tensor
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

import aiter_compat as ac
from aiter_compat.demo.host_models import HostModel, build
from aiter_compat.demo.reference import DenseReference, Rules
from aiter_compat.hosts.checkpoint_formats import CheckpointFormats, checkpoint_formats
from aiter_compat.hosts.transformers_experts import (
    EXPERTS_NAME,
    HeldExperts,
    experts_forward,
    held_experts,
    quantise_experts,
    register,
)

REFERENCE_NAME = "dense_reference"
BESIDE_NAME = "aiter_compat_beside_dense_reference"
# Logits of the last tokens are compared: the output layer over a whole vocabulary is most of a small model's work.
COMPARED_TOKENS = 48
# The arithmetic that the reference spells out, whatever AITER is installed.
NUMERICS = "aiter-0.1.15"


@dataclass(frozen=True)
class TokenError:
    """Relative L2 distance from the reference, token by token.

    Attributes:
        median: over the tokens.
        most: nine of ten tokens are not further off.
        worst: of one token.
    """

    median: float
    most: float
    worst: float


@dataclass(frozen=True)
class Mistake:
    """A way to get it wrong, and the error of the logits that it makes."""

    name: str
    error: TokenError


@dataclass(frozen=True)
class Generated:
    """Greedily generated tokens.

    Attributes:
        ids: one per step.
        margins: how far the best logit was ahead of the second, per step.
        seconds: for the whole of `model.generate`.
    """

    ids: tuple[int, ...]
    margins: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class Measurement:
    """All that the demo knows of one host model.

    Attributes:
        formats: what was asked of weights and activations.
        layers: number of experts layers that were quantised.
        decision: of `aiter_compat.explain` for the prefill of one such layer.
        prompt_tokens: length of the prompt.
        compared_tokens: how many of them, the last ones, have their logits compared.
        clamped: share of gate and up values that the limit touched.
        layer_error: of aiter_compat's experts layers, each given what the reference's layer got; the worst layer.
        error: of aiter_compat's logits.
        mistakes: of the reference, made wrong on purpose.
        generated: by aiter_compat.
        expected: by the reference.
        quantise_seconds: quantising all experts.
        prefill_seconds: one forward over the prompt.
    """

    formats: CheckpointFormats
    layers: int
    decision: str
    prompt_tokens: int
    compared_tokens: int
    clamped: float
    layer_error: TokenError
    error: TokenError
    mistakes: tuple[Mistake, ...]
    generated: Generated
    expected: Generated
    quantise_seconds: float
    prefill_seconds: float


def measure(host: HostModel, input_ids: Tensor, vocabulary: int, *, new_tokens: int, backend: str) -> Measurement:
    """Build the model, quantise its experts, run prefill and generation both ways.

    Args:
        host: which model.
        input_ids: [1, T] tokens of the prompt.
        vocabulary: number of tokens of the tokenizer.
        new_tokens: how many tokens to generate.
        backend: as in `aiter_compat.fused_experts`.
    """
    register()
    reference = DenseReference(host.rules)
    layer_errors: list[TokenError] = []

    def beside(experts: Any, hidden_states: Tensor, ids: Tensor, topk_weights: Tensor) -> Tensor:
        expected = reference(experts, hidden_states, ids, topk_weights)
        layer_errors.append(token_error(experts_forward(experts, hidden_states, ids, topk_weights), expected))
        return expected

    ALL_EXPERTS_FUNCTIONS.register(REFERENCE_NAME, reference)
    ALL_EXPERTS_FUNCTIONS.register(BESIDE_NAME, beside)

    model = build(host, vocabulary)
    formats = checkpoint_formats(host.quantization_config)
    if host.activation_format is not None:
        formats = replace(formats, activation_format=host.activation_format)
    (layers, quantise_seconds) = _timed(
        lambda: quantise_experts(model, formats, backend=backend, numerics=NUMERICS, exact_qdq=True)
    )

    model.set_experts_implementation(EXPERTS_NAME)
    _generate(model, input_ids[:, :2], 2)  # the first call imports and resolves what later ones find ready
    ours, prefill_seconds = _timed(lambda: _logits(model, input_ids))
    generated = _generate(model, input_ids, new_tokens)

    model.set_experts_implementation(BESIDE_NAME)
    expected_logits = _logits(model, input_ids)
    clamped = reference.clamped.share
    model.set_experts_implementation(REFERENCE_NAME)
    expected = _generate(model, input_ids, new_tokens)
    mistakes = []
    for name, rules in _wrong_rules(host.rules):
        reference.rules = rules
        mistakes.append(Mistake(name, token_error(_logits(model, input_ids), expected_logits)))

    return Measurement(
        formats=formats,
        layers=len(layers),
        decision=_decision(held_experts(model.get_submodule(layers[0])), input_ids.shape[1]),
        prompt_tokens=input_ids.shape[1],
        compared_tokens=len(expected_logits),
        clamped=clamped,
        layer_error=max(layer_errors, key=lambda error: math.inf if math.isnan(error.most) else error.most),
        error=token_error(ours, expected_logits),
        mistakes=tuple(mistakes),
        generated=generated,
        expected=expected,
        quantise_seconds=quantise_seconds,
        prefill_seconds=prefill_seconds,
    )


def token_error(rows: Tensor, expected: Tensor) -> TokenError:
    """Distance of [T, N] values from the expected ones; NaN if any value is not finite."""
    rows, expected = rows.float(), expected.float()
    per_token = (rows - expected).norm(dim=-1) / expected.norm(dim=-1)
    if not bool(torch.isfinite(per_token).all()):
        return TokenError(math.nan, math.nan, math.nan)
    return TokenError(
        median=per_token.median().item(), most=per_token.quantile(0.9).item(), worst=per_token.max().item()
    )


def _wrong_rules(rules: Rules) -> list[tuple[str, Rules]]:
    other: Literal["interleaved", "separated"] = "interleaved" if rules.rows == "separated" else "separated"
    quantised = ("if activation QDQ were left out", replace(rules, qdq=None))
    added = ("if mxfp4 activation QDQ were added", replace(rules, qdq="mxfp4"))
    return [
        added if rules.qdq is None else quantised,
        (f"if gate and up were read as {other}", replace(rules, rows=other)),
        (f"if the limit {rules.limit:g} were lost", replace(rules, limit=math.inf)),
    ]


def _decision(held: HeldExperts, tokens: int) -> str:
    config = held.config
    decision = ac.explain(
        torch.zeros(tokens, config.hidden_size, dtype=torch.bfloat16),
        held.weights,
        torch.zeros(tokens, config.top_k),
        torch.zeros(tokens, config.top_k, dtype=torch.int32),
        config=config,
        expert_map=held.expert_map,
        backend=held.backend,
        numerics=held.numerics,
    )
    return str(decision)


def _logits(model: Any, input_ids: Tensor) -> Tensor:
    with torch.no_grad():
        logits: Tensor = model(input_ids, logits_to_keep=COMPARED_TOKENS).logits[0].float()
    return logits


def _generate(model: Any, input_ids: Tensor, new_tokens: int) -> Generated:
    output, seconds = _timed(
        lambda: model.generate(
            input_ids,
            attention_mask=torch.ones_like(input_ids),
            max_new_tokens=new_tokens,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
    )
    best = torch.stack(output.logits).float()[:, 0].topk(2).values
    return Generated(
        ids=tuple(output.sequences[0, input_ids.shape[1] :].tolist()),
        margins=tuple((best[:, 0] - best[:, 1]).tolist()),
        seconds=seconds,
    )


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    result = work()
    return result, perf_counter() - start
