"""The grid of calls, each with what it asks for: in plain names, and in the values that must arrive at AITER."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

TOKENS, TOP_K, EXPERTS, HIDDEN, INTERMEDIATE = 4, 2, 4, 256, 256
_GLOBAL_EXPERTS = 2 * EXPERTS
_BLOCK, _TILE = 32, 128

Arguments = Mapping[str, Any]

OWN = "own"
"""The limit that an activation has when nobody names one."""


@dataclass(frozen=True)
class Call:
    """One call of `ac.fused_moe` and what it asks for.

    Attributes:
        kind: what it exercises; the row of the table that it counts in.
        arguments: of `ac.fused_moe`, without `backend`.
        activation: canonical name.
        quant_type: canonical name.
        gate_mode: canonical gate mode.
        limit: clamp of the activation: `OWN`, a number, or `math.inf` for none.
        gated: w1 has an up half.
        arrives: values that AITER's operator must be given, by its own parameter names; a tensor stands for equal
            values of the same dtype. Parameters that are not named must have the operator's default.
        shuffled: AITER's mark on the weights as it must arrive.
        needs: keywords beyond those of v0.1.9 that carry what it asks for.
        shared: a shared expert comes along.
    """

    kind: str
    arguments: Arguments
    activation: str = "silu"
    quant_type: str = "no"
    gate_mode: str = "separated"
    limit: float | str = OWN
    gated: bool = True
    arrives: Arguments = field(default_factory=dict)
    shuffled: bool = False
    needs: tuple[str, ...] = ()
    shared: bool = False

    def also(self, kind: str, arguments: Arguments, arrives: Arguments | None = None, **changes: Any) -> Call:
        """This call with more arguments, which arrive as they are unless said otherwise."""
        return replace(
            self,
            kind=kind,
            arguments={**self.arguments, **arguments},
            arrives={**self.arrives, **(arguments if arrives is None else arrives)},
            **changes,
        )


def calls() -> list[Call]:
    """Every call, on seeded tensors that the calls share."""
    generator = torch.Generator().manual_seed(11)
    weights = _weights(generator)
    return [
        *_activations(weights),
        *_limits(weights),
        *_gate_modes(weights),
        *_situv2(weights),
        *_arguments(weights, generator),
        *_spellings(weights),
        *_shared_expert(weights, generator),
        *_newer_keywords(weights),
    ]


def _weights(generator: torch.Generator) -> dict[str, Call]:
    """A SiLU call for each kind of weights; bytes are random, since no kernel reads them."""
    hidden = torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16()
    chosen, ids = torch.rand(TOKENS, EXPERTS, generator=generator).topk(TOP_K)
    operands = {"hidden_states": hidden, "topk_weight": chosen, "topk_ids": ids.int()}
    base = Call("", {}).also("", operands, arrives={**operands, "dtype": torch.bfloat16})
    shapes = {"w1": (EXPERTS, 2 * INTERMEDIATE, HIDDEN), "w2": (EXPERTS, HIDDEN, INTERMEDIATE)}

    def some_bytes(*shape: int) -> torch.Tensor:
        return torch.randint(0, 120, shape, generator=generator, dtype=torch.uint8)

    def with_weights(stored: Arguments, quant_type: str, layout: str, **changes: Any) -> Call:
        stated = {"quant_type": quant_type, "weight_layout": layout}
        shuffled = layout != "logical"
        call = base.also("", stored, quant_type=quant_type, shuffled=shuffled, **changes)
        return call.also("", stated, arrives={})

    plain = {name: torch.randn(shape, generator=generator).bfloat16() for name, shape in shapes.items()}
    no_up_half = {"w1": plain["w1"][:, :INTERMEDIATE].contiguous(), "w2": plain["w2"]}
    packed = {
        name: some_bytes(*shape[:2], shape[2] // 2).view(torch.float4_e2m1fn_x2) for name, shape in shapes.items()
    }
    codes = {name: some_bytes(*shape).view(torch.float8_e4m3fn) for name, shape in shapes.items()}
    e8m0 = {
        f"{name}_scale": some_bytes(experts * rows, columns // _BLOCK).view(torch.float8_e8m0fnu)
        for name, (experts, rows, columns) in shapes.items()
    }
    per_row = {f"{name}_scale": torch.rand(shape[0], shape[1], 1) for name, shape in shapes.items()}
    per_expert = {f"{name}_scale": torch.rand(shape[0], 1) for name, shape in shapes.items()}
    per_tile = {
        f"{name}_scale": torch.rand(shape[0], shape[1] // _TILE, shape[2] // _TILE) for name, shape in shapes.items()
    }
    return {
        "unquantised": with_weights(plain, "no", "logical"),
        "unquantised, no up half": with_weights(no_up_half, "no", "logical", gated=False),
        "MXFP4": with_weights(packed | e8m0, "per_1x32", "shuffle_16x16"),
        "MXFP4 interleaved": with_weights(packed | e8m0, "per_1x32", "a16w4", gate_mode="interleave").also(
            "", {"gate_mode": "interleave"}, arrives={}
        ),
        "MXFP8": with_weights(codes | e8m0, "per_1x32", "shuffle_16x16"),
        "FP8 per_token": with_weights(codes | per_row, "per_token", "shuffle_16x16"),
        "FP8 per_tensor": with_weights(codes | per_expert, "per_tensor", "shuffle_16x16"),
        "FP8 per_128x128": with_weights(codes | per_tile, "per_128x128", "shuffle_16x16"),
        "FP8 per_1x128": with_weights(codes | per_tile, "per_1x128", "shuffle_16x16"),
    }


def _activations(weights: Mapping[str, Call]) -> Iterator[Call]:
    for label, base in weights.items():
        for activation in ("silu", "gelu", "gelu_tanh", "swiglu", "situv2", "swiglustep", "relu2"):
            if base.gated == (activation == "relu2") or (not base.gated and activation not in ("silu", "gelu")):
                continue
            yield _activated(base, activation, f"{activation}, {label}")
    yield _activated(weights["unquantised, no up half"], "relu2", "relu2, unquantised, no up half")


def _activated(base: Call, activation: str, kind: str, numbers: Arguments | None = None) -> Call:
    call = base.also(kind, {"activation": activation}, arrives={}, activation=activation)
    if activation != "situv2":
        return call
    # What AITER makes of numbers that it is not given differs by kernel, so they are always sent.
    asked = {"beta": 4.0, "linear_beta": 25.0} | (numbers or {})
    return call.also(kind, numbers or {}, arrives=asked, needs=(*call.needs, "beta", "linear_beta"))


def _limits(weights: Mapping[str, Call]) -> Iterator[Call]:
    for label in ("unquantised", "MXFP4", "MXFP4 interleaved"):
        for activation in ("silu", "gelu", "swiglu"):
            base = _activated(weights[label], activation, "")
            own = 7.0 if activation == "swiglu" else math.inf
            for limit in (None, 0.0, 2.0, 3, 7.0, math.inf):
                asked = OWN if not limit or limit == own else float(limit)
                kind = f"limit {'of its own' if asked == OWN else 'another'}, {activation}, {label}"
                yield base.also(kind, {"swiglu_limit": limit}, arrives={}, limit=asked)


def _gate_modes(weights: Mapping[str, Call]) -> Iterator[Call]:
    for label in ("unquantised", "MXFP4"):
        for activation in ("silu", "swiglu"):
            for mode in (None, "separated", "SEPARATED", "mock_gate_only", "gate_only"):
                name = (mode or "separated").lower()
                base = _activated(weights[label], activation, "")
                yield base.also(f"gate mode {name}, {activation}, {label}", {"gate_mode": mode}, {}, gate_mode=name)


def _situv2(weights: Mapping[str, Call]) -> Iterator[Call]:
    for label in ("unquantised", "MXFP4", "MXFP4 interleaved"):
        for numbers in ({}, {"beta": 2.0}, {"linear_beta": 3.0}, {"beta": 2.0, "linear_beta": 3.0}):
            yield _activated(weights[label], "situv2", f"numbers of situv2, {label}", numbers)
    for label in ("unquantised", "MXFP4 interleaved"):
        yield _activated(weights[label], "swiglu", f"beta of swiglu, its own, {label}").also(
            f"beta of swiglu, its own, {label}", {"beta": 1.0}, arrives={}
        )


@dataclass(frozen=True)
class _More:
    """Arguments to add to a call, and what arrives where that differs."""

    arguments: Arguments
    arrives: Arguments | None = None
    needs: tuple[str, ...] = ()


def _arguments(weights: Mapping[str, Call], generator: torch.Generator) -> Iterator[Call]:
    """Every other argument by itself, and each with each other, on weights of three kinds."""
    bias1 = torch.randn(EXPERTS, 2 * INTERMEDIATE, generator=generator)
    bias2 = torch.randn(EXPERTS, HIDDEN, generator=generator).bfloat16()
    mask = torch.tensor([1, 0, 0, 1, 1, 0, 1, 0], dtype=torch.int32)
    ids = torch.rand(TOKENS, _GLOBAL_EXPERTS, generator=generator).topk(TOP_K).indices
    weight = torch.rand(TOKENS, TOP_K, generator=generator).bfloat16()
    one_by_one = {
        "hidden_pad": _More({"hidden_pad": 128}),
        "intermediate_pad": _More({"intermediate_pad": 64}),
        "bias1": _More({"bias1": bias1}),
        "bias2 in bf16": _More({"bias2": bias2}, {"bias2": bias2.float()}),
        "expert_mask, ids in int64": _More(
            {"expert_mask": mask, "topk_ids": ids}, {"expert_mask": mask, "topk_ids": ids.int()}
        ),
        "topk_weight in bf16": _More({"topk_weight": weight}, {"topk_weight": weight.float()}),
        "doweight_stage1": _More({"doweight_stage1": True}),
        "num_local_tokens": _More({"num_local_tokens": torch.tensor([3], dtype=torch.int32)}),
        "block_size_M": _More({"block_size_M": 64}),
        "moe_sorting_dispatch_policy": _More({"moe_sorting_dispatch_policy": 1}),
        "dtype": _More({"dtype": torch.float16}),
        "a2_scale": _More({"a2_scale": torch.rand(1)}),
        "splitk, which no release reads": _More({"splitk": 2}, {}),
    }
    for label, activation in (("unquantised", "silu"), ("MXFP4", "gelu"), ("MXFP4 interleaved", "swiglu")):
        base = _activated(weights[label], activation, "")
        for name, more in one_by_one.items():
            yield base.also(f"{name}, {label}", more.arguments, more.arrives, needs=more.needs)
        for (_, one), (_, other) in itertools.combinations(one_by_one.items(), 2):
            call = base.also("", one.arguments, one.arrives)
            yield call.also(f"two of these arguments, {label}", other.arguments, other.arrives)
    quantised = torch.randint(0, 120, (TOKENS, HIDDEN), dtype=torch.uint8).view(torch.float8_e4m3fn)
    scale = torch.rand(TOKENS, HIDDEN // _TILE)
    given = {"hidden_states": quantised, "a1_scale": scale}
    yield weights["FP8 per_1x128"].also(
        "quantised hidden_states and a1_scale, FP8 per_1x128", given, arrives={**given, "dtype": torch.bfloat16}
    )


def _spellings(weights: Mapping[str, Call]) -> Iterator[Call]:
    """Members of AITER's own enums, twins' integers and names in any case, for the two enums that every release has."""
    for label, activation in (("MXFP4", "gelu"), ("MXFP4 interleaved", "swiglu")):
        base = _activated(weights[label], activation, "")
        kind = f"members, integers and names, {label}"
        number = {"gelu": 1, "swiglu": 2}[activation]
        yield base.also(kind, {"activation": number, "quant_type": 3}, arrives={})
        yield base.also(kind, {"activation": activation.upper(), "quant_type": "PER_1X32"}, arrives={})
        yield base.also(kind, {"activation": Member("ActivationType", activation.capitalize())}, arrives={})
        yield base.also(kind, {"quant_type": Member("QuantType", "per_1x32")}, arrives={})
        yield base.also(kind, {"gate_mode": Member("GateMode", base.gate_mode.upper())}, arrives={})


@dataclass(frozen=True)
class Member:
    """Stands for a member of `ac.<enum>`, which exists once AITER is imported."""

    enum: str
    name: str


def _shared_expert(weights: Mapping[str, Call], generator: torch.Generator) -> Iterator[Call]:
    """A shared expert in FP8 beside routed ones in MXFP4, whose last row stands for it (aiter/fhmoe.py)."""
    codes = {
        "shared_w1": torch.randint(0, 120, (1, 2 * INTERMEDIATE, HIDDEN), generator=generator, dtype=torch.uint8),
        "shared_w2": torch.randint(0, 120, (1, HIDDEN, INTERMEDIATE), generator=generator, dtype=torch.uint8),
    }
    shared: dict[str, Any] = {name: code.view(torch.float8_e4m3fn) for name, code in codes.items()}
    for name, (_, rows, columns) in {key: code.shape for key, code in codes.items()}.items():
        scale = torch.randint(120, 126, (rows, columns // _BLOCK), generator=generator, dtype=torch.uint8)
        shared[f"{name}_scale"] = scale
    shared["shared_expert_id"] = EXPERTS - 1
    needs = tuple(shared)
    mask = torch.tensor([1, 0, 0, 1, 1, 0, 1, 0], dtype=torch.int32)
    bias = torch.zeros(EXPERTS, HIDDEN)
    pads = {"hidden_pad": 128, "intermediate_pad": 64}
    for label in ("MXFP4", "MXFP4 interleaved"):
        base = weights[label].also(f"shared expert, {label}", shared, needs=needs, shared=True)
        yield base
        yield base.also(f"shared expert with limit, {label}", {"swiglu_limit": 2.0}, {}, limit=2.0)
        yield base.also(f"shared expert with pads, {label}", pads)
        yield base.also(f"shared expert with a mask, {label}", {"expert_mask": mask})
        yield base.also(f"shared expert with a bias, {label}", {"bias2": bias})
        yield base.also(f"shared expert not the last, {label}", {"shared_expert_id": 0})
        for activation in ("swiglu", "gelu", "situv2"):
            yield _activated(base, activation, f"shared expert with {activation}, {label}", None)
    yield weights["unquantised"].also("shared expert, unquantised", shared, needs=needs, shared=True)


def _newer_keywords(weights: Mapping[str, Call]) -> Iterator[Call]:
    """Keywords that only later releases have: None asks for nothing."""
    base = weights["unquantised"]
    for name in ("stage2_scatter", "quant_dtype_a", "quant_dtype_a2", "quant_type_a", "output", "no_combine"):
        yield base.also("keywords of later releases, None", {name: None}, arrives={})
        yield base.also(f"{name}, unquantised", {name: True}, arrives={}, needs=(name,))
