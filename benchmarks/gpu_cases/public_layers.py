"""Layers called through the public functions, and the batches that go through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

import aiter_compat as ac
from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from benchmarks.gpu_cases.small_layers import Sizes, make

Call = Callable[..., torch.Tensor]
"""(hidden_states, topk_weight, topk_ids, num_local_tokens, backend="auto") -> [M, H]"""

SIZES = Sizes()


@dataclass(frozen=True)
class Batch:
    """What changes from call to call of a layer; the fields of `ac.fused_moe`."""

    hidden_states: torch.Tensor
    topk_weight: torch.Tensor
    topk_ids: torch.Tensor
    num_local_tokens: torch.Tensor

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """In the order of `Call`."""
        return self.hidden_states, self.topk_weight, self.topk_ids, self.num_local_tokens

    def copy_(self, other: Batch) -> None:
        """Take the values of a batch of the same size, in place."""
        for mine, others in zip(self.tensors, other.tensors, strict=True):
            mine.copy_(others)

    def clone(self) -> Batch:
        """The same values in memory of their own."""
        return Batch(*(tensor.clone() for tensor in self.tensors))


@dataclass(frozen=True)
class PublicLayer:
    """One layer, and how a user calls it.

    Attributes:
        label: what is special about it.
        call: runs a batch.
        explain: the decision on the same arguments.
        operator: what `torch.compile` should put in its place.
        experts: of all ranks; a batch's ids are below it.
    """

    label: str
    call: Call
    explain: Callable[..., ac.Decision]
    operator: str
    experts: int


def public_layers(device: torch.device) -> Iterator[PublicLayer]:
    """Both functions, with what an MXFP4 layer may have: biases, a mask or map of experts, rows that alternate."""
    silu = make(device, SIZES, activation=ActivationSpec("silu"))
    yield _fused_moe("fused_moe, silu", silu, SIZES.experts, activation="silu")
    gpt_oss = make(device, SIZES, bias1=True, bias2=True)
    explicit = {"activation": "swiglu", "activation_qdq": "mxfp4"}
    yield _fused_moe("fused_moe, swiglu and biases", gpt_oss, SIZES.experts, **explicit)
    every_second = (torch.arange(2 * SIZES.experts, device=device) % 2).int()
    masked = {**explicit, "expert_mask": every_second}
    yield _fused_moe("fused_moe, expert_mask", gpt_oss, 2 * SIZES.experts, **masked)
    yield _fused_experts("fused_experts, interleaved rows", gpt_oss, "swigluoai", SIZES.experts)
    reverse = torch.full((2 * SIZES.experts,), -1, device=device)
    reverse[::2] = torch.arange(SIZES.experts - 1, -1, -1, device=device)
    yield _fused_experts("fused_experts, expert_map", silu, "silu", 2 * SIZES.experts, expert_map=reverse)


def batch(device: torch.device, tokens: int, experts: int, seed: int = 0) -> Batch:
    """A seeded batch whose tokens all count."""
    random = torch.Generator(device).manual_seed(seed)
    scores = torch.rand(tokens, experts, generator=random, device=device)
    weight, ids = torch.topk(torch.softmax(scores, -1), SIZES.choices)
    hidden_states = torch.randn((tokens, SIZES.hidden), generator=random, device=device).to(torch.bfloat16)
    counted = torch.full((1,), tokens, dtype=torch.int32, device=device)
    return Batch(hidden_states, weight, ids.int(), counted)


def batches(device: torch.device, tokens: int, experts: int) -> Iterator[tuple[str, Batch]]:
    """Batches of one size that differ in everything that may change under a captured call."""
    for seed in (1, 2):
        yield f"routing {seed}", batch(device, tokens, experts, seed)
    for label, counted in (("half of the tokens", tokens // 2), ("no token", 0)):
        changed = batch(device, tokens, experts, 3)
        changed.num_local_tokens.fill_(counted)
        yield label, changed
    crowded = batch(device, tokens, experts, 4)
    crowded.topk_ids.fill_(6)
    yield "one expert for all", crowded
    nowhere = batch(device, tokens, experts, 5)
    nowhere.topk_ids[nowhere.topk_ids % 3 == 0] = -1
    yield "no expert for some", nowhere


def _fused_moe(label: str, layer: EmulationRequest, experts: int, **options: object) -> PublicLayer:
    fixed = {name: getattr(layer, name) for name in ("w1_scale", "w2_scale", "bias1", "bias2")}
    fixed |= {"w1": layer.w1, "w2": layer.w2, "quant_type": "per_1x32", **options}
    return _layer(label, ac.fused_moe, "topk_weight", fixed, experts)


def _fused_experts(
    label: str, layer: EmulationRequest, activation: str, experts: int, **options: object
) -> PublicLayer:
    config = ac.MoEConfig(
        hidden_size=SIZES.hidden,
        intermediate_size=SIZES.intermediate,
        num_experts=experts,
        top_k=SIZES.choices,
        activation=activation,
        activation_format="mxfp4",
    )
    parts = (layer.w1, layer.w2, layer.w1_scale, layer.w2_scale)
    weights = ac.prepare_weights(*parts, config=config, bias1=layer.bias1, bias2=layer.bias2)

    fixed = {"weights": weights, "config": config, **options}
    return _layer(label, ac.fused_experts, "topk_weights", fixed, experts)


def _layer(label: str, function: Call, weight_name: str, fixed: dict[str, object], experts: int) -> PublicLayer:
    names = ("hidden_states", weight_name, "topk_ids", "num_local_tokens")

    def call(*routed: torch.Tensor, backend: str = "auto") -> torch.Tensor:
        return function(**dict(zip(names, routed, strict=True)), backend=backend, **fixed)

    def explain(*routed: torch.Tensor) -> ac.Decision:
        return ac.explain(**dict(zip(names, routed, strict=True)), backend="auto", **fixed)

    return PublicLayer(label, call, explain, f"aiter_compat.{function.__name__}.default", experts)
