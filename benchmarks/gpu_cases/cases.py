"""The groups of calls that are compared one by one. Each function yields the cases of one group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from aiter_compat import layouts
from aiter_compat.backends.emulation import ActivationSpec
from aiter_compat.profiles import profile, profile_names
from aiter_compat.profiles.choices import HIP_AMAX_FLOOR, SCALE_RULES
from benchmarks.gpu_cases.small_layers import Case, Sizes, make

Cases: TypeAlias = Iterator[Case]

_ACTIVATIONS = (
    ActivationSpec("silu"),
    ActivationSpec("silu", limit=1.0),
    ActivationSpec("silu", gated=False),
    ActivationSpec("gelu"),
    ActivationSpec("gelu", gated=False),
    ActivationSpec("gelu_tanh"),
    ActivationSpec("swiglu"),
    ActivationSpec("swiglu", alpha=1.3, beta=0.5, limit=1.0),
    ActivationSpec("swiglustep"),
    ActivationSpec("swiglustep", limit=0.75),
    ActivationSpec("situv2", beta=4.0),
    ActivationSpec("situv2", beta=4.0, linear_beta=25.0),
    ActivationSpec("relu2"),
    ActivationSpec("relu2", gated=False),
)


def activations(device: torch.device) -> Cases:
    """Every function between the GEMMs, with and without clamps and gates."""
    for seed, spec in enumerate(_ACTIVATIONS):
        yield Case(str(spec), make(device, Sizes(), seed=seed, activation=spec, bias1=True))


def gate_rows_and_biases(device: torch.device) -> Cases:
    """Both orders of gate and up rows, with each combination of biases."""
    for order in ("separated", "interleaved"):
        for first, second in ((False, False), (True, False), (False, True), (True, True)):
            request = make(device, Sizes(tokens=48), bias1=first, bias2=second, gate_rows=order)
            yield Case(f"{order}, bias1 {first}, bias2 {second}", request)


def routing(device: torch.device) -> Cases:
    """Masks, ids that name no expert, zero weights, crowded experts, tokens that do not count."""
    sizes = Sizes(tokens=70)
    plain = make(device, sizes)
    ids, weights = plain.topk_ids, plain.topk_weight
    mask = (torch.arange(2 * sizes.experts, device=device) % 2).int()
    yield Case("expert_mask", replace(plain, expert_mask=mask, topk_ids=ids * 2 + (ids % 3 == 0)))
    yield Case("expert_mask, nothing here", replace(plain, expert_mask=mask * 0, topk_ids=ids))
    outside = ids.clone()
    outside[::3, 0], outside[1::3, 1], outside[2::5] = -1, sizes.experts, 2**31 - 1
    yield Case("ids out of range", replace(plain, topk_ids=outside))
    yield Case("all ids out of range", replace(plain, topk_ids=ids * 0 - 1))
    yield Case("int64 ids", replace(plain, topk_ids=ids.long()))
    zero = torch.where(ids % 4 == 0, 0.0, weights)
    yield Case("zero weights", replace(plain, topk_weight=zero))
    yield Case("zero weights, old rule", replace(plain, topk_weight=zero, zero_weight_rule=False))
    yield Case("negative weights", replace(plain, topk_weight=-weights))
    yield Case("all tokens to one expert", replace(plain, topk_ids=ids * 0 + 3))
    yield Case("one choice", replace(plain, topk_ids=ids[:, :1].contiguous(), topk_weight=weights[:, :1].contiguous()))
    yield Case("strided ids", replace(plain, topk_ids=ids.t().contiguous().t()))
    for counted in (0, 1, 33, sizes.tokens):
        yield Case(f"num_local_tokens {counted}", replace(plain, num_local_tokens=counted))
        tensor = torch.tensor([counted], dtype=torch.int32, device=device)
        yield Case(f"num_local_tokens tensor {counted}", replace(plain, num_local_tokens=tensor))
    for rule in ("before_bias", "after_activation", "ignored"):
        request = make(device, sizes, bias1=True, bias2=True, doweight_stage1=True)
        yield Case(f"doweight_stage1 {rule}", replace(request, profile=profile(doweight_stage1=rule)))


def token_counts(device: torch.device) -> Cases:
    """Batch sizes on both sides of every tile and of every change of method."""
    sizes = Sizes(experts=32, hidden=512, intermediate=256)
    layer = make(device, replace(sizes, tokens=1))
    for tokens in (0, 1, 2, 7, 16, 33, 64, 257, 1000, 4096, 16384):
        batch = make(device, Sizes(tokens, sizes.experts, sizes.choices, sizes.hidden, 32), seed=tokens)
        request = replace(
            layer, hidden_states=batch.hidden_states, topk_ids=batch.topk_ids, topk_weight=batch.topk_weight
        )
        yield Case(f"{tokens} tokens", request)
    many = Sizes(tokens=5, experts=256, choices=8, hidden=256, intermediate=64)
    yield Case("256 experts, 8 choices", make(device, many))
    yield Case("6 choices", make(device, Sizes(tokens=50, choices=6)))
    yield Case("1 expert", make(device, Sizes(tokens=50, experts=1, choices=1)))


def odd_sizes(device: torch.device) -> Cases:
    """Hidden and intermediate sizes that fill no tile, and all ways in which scales come."""
    for hidden, intermediate in (
        (32, 32),
        (96, 160),
        (160, 96),
        (416, 224),
        (512, 1024),
        (1056, 544),
        (2880, 2880),
        (6144, 384),
    ):
        for tokens in (3, 200):
            sizes = Sizes(tokens, 4, 2, hidden, intermediate)
            yield Case(f"{hidden} x {intermediate}, {tokens} tokens", make(device, sizes, bias1=True, bias2=True))


def activation_formats(device: torch.device) -> Cases:
    """What activations are rounded through, in each stage."""
    for first, second in (
        ("none", "none"),
        ("mxfp8", "mxfp8"),
        ("mxfp4", "none"),
        ("none", "mxfp4"),
        ("mxfp8", "mxfp4"),
    ):
        for tokens in (1, 100):
            request = make(device, Sizes(tokens), bias1=True, qdq_first=first, qdq_second=second)
            yield Case(f"{first} then {second}, {tokens} tokens", request)
    # Three bf16 terms an activation, in the largest tiles.
    crowded = make(device, Sizes(400, experts=4), qdq_first="none", qdq_second="none")
    yield Case("fp32 tokens, crowded experts", replace(crowded, hidden_states=crowded.hidden_states.float()))


def other_roundings(device: torch.device) -> Cases:
    """Calls of other groups with activations unrounded or through MXFP8, which other kernels serve."""
    for group in (activations, gate_rows_and_biases, routing, odd_sizes):
        for number, case in enumerate(group(device)):
            rounding = ("none", "mxfp8")[number % 2]
            request = replace(case.request, qdq_first=rounding, qdq_second=rounding)
            yield Case(f"{rounding}, {case.label}", request)


def weight_formats(device: torch.device) -> Cases:
    """MX weights of six and eight bits."""
    for name in ("mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2"):
        for activation_format in ("none", "mxfp8"):
            request = make(device, Sizes(), weight_format=name, activation_format=activation_format)
            yield Case(f"{name} weights, {activation_format} activations", request)


def weight_layouts(device: torch.device) -> Cases:
    """Weights and scales as they lie after AITER's shuffles."""
    sizes = Sizes(tokens=40, experts=4, choices=2)
    plain = make(device, sizes)
    experts = sizes.experts
    assert plain.w1_scale is not None
    assert plain.w2_scale is not None
    shuffled = {
        "w1": layouts.shuffle_16x16(plain.w1),
        "w2": layouts.shuffle_16x16(plain.w2),
        "w1_scale": layouts.shuffle_scale_e8m0(plain.w1_scale.flatten(0, 1)),
        "w2_scale": layouts.shuffle_scale_e8m0(plain.w2_scale.flatten(0, 1)),
    }
    yield Case("shuffle_16x16", replace(plain, weight_layout="shuffle_16x16", **shuffled))
    interleaved = {
        "w1": layouts.shuffle_a16w4(plain.w1, gate_up=True),
        "w2": layouts.shuffle_a16w4(plain.w2, gate_up=False),
        "w1_scale": layouts.shuffle_scale_a16w4(plain.w1_scale.flatten(0, 1), experts, gate_up=True),
        "w2_scale": layouts.shuffle_scale_a16w4(plain.w2_scale.flatten(0, 1), experts, gate_up=False),
    }
    yield Case("a16w4", replace(plain, weight_layout="a16w4", **interleaved))


def profiles(device: torch.device) -> Cases:
    """Every named profile, every scale rule, and each other choice that a profile makes."""
    sizes = Sizes(tokens=24)
    changes: list[tuple[str, dict[str, Any]]] = [
        (f"scale rule {rule}", {"mxfp4_scale_rule": rule}) for rule in SCALE_RULES
    ]
    changes += [
        ("second_qdq_from fp32", {"second_qdq_from": "fp32"}),
        ("block_amax_floor", {"block_amax_floor": HIP_AMAX_FLOOR}),
        ("slot_rounding bf16", {"slot_rounding": "bf16"}),
        ("slot_sum bf16", {"slot_sum": "bf16"}),
    ]
    for label, change in changes:
        yield Case(label, make(device, sizes, bias1=True, profile=profile(**change)))
    for name in profile_names():
        yield Case(f"profile {name}", make(device, sizes, bias1=True, profile=profile(name)))


def dtypes(device: torch.device) -> Cases:
    """16-bit formats and fp32, in and out."""
    for out in (torch.bfloat16, torch.float16, torch.float32):
        for given in (torch.bfloat16, torch.float16, torch.float32):
            request = make(device, Sizes(), out_dtype=out)
            yield Case(f"{given} to {out}", replace(request, hidden_states=request.hidden_states.to(given)))


def shared_experts(device: torch.device) -> Cases:
    """A shared expert for every token, and one that an id names."""
    plain = make(device, Sizes(tokens=40, experts=8))
    one = make(device, Sizes(tokens=1, experts=1, choices=1), seed=9)
    shared = {
        "shared_w1": one.w1,
        "shared_w2": one.w2,
        "shared_w1_scale": one.w1_scale,
        "shared_w2_scale": one.w2_scale,
    }
    yield Case("for every token", replace(plain, **shared))
    yield Case("by id", replace(plain, shared_expert_id=5, **shared))


def values(device: torch.device) -> Cases:
    """Inputs at the edges of the formats, each kind in tokens of its own so that the others stay finite."""
    request = make(device, Sizes(tokens=40))
    random = torch.Generator(device).manual_seed(5)
    x = request.hidden_states
    spread = torch.exp2(torch.randint(-20, 20, (x.shape[0], 1), generator=random, device=device)).to(torch.bfloat16)
    yield Case("powers of two apart", replace(request, hidden_states=x * spread))
    yield Case("all zero", replace(request, hidden_states=x * 0))
    yield Case("huge", replace(request, hidden_states=(x.float() * 1e30).to(torch.bfloat16)))
    for label, value in (("NaN", float("nan")), ("Inf", float("inf")), ("-Inf", float("-inf"))):
        changed = x.clone()
        changed[::4, 7] = value
        yield Case(f"{label} in some tokens", replace(request, hidden_states=changed), finite=False)
        yield Case(
            f"{label} and weight 0",
            replace(request, hidden_states=changed, topk_weight=request.topk_weight * (request.topk_ids % 2)),
            finite=False,
        )
    assert request.w1_scale is not None
    assert request.w2_scale is not None
    subnormal = (x.float() * 2.0**-128).to(torch.bfloat16)
    yield Case("subnormal", replace(request, hidden_states=subnormal, w1_scale=request.w1_scale + 110))
    wide = torch.randint(-12, 12, request.w1_scale.shape, generator=random, device=device)
    yield Case("weight scales 2^24 apart", replace(request, w1_scale=(request.w1_scale.int() + wide).to(torch.uint8)))
    low = request.w2_scale.clone()
    low[:, ::5] = 0
    yield Case("weight scales of 2^-127", replace(request, w2_scale=low))
    missing = request.w1_scale.clone()
    missing[::3, 5, 1] = 255
    yield Case("weight scales of NaN", replace(request, w1_scale=missing), finite=False)


GROUPS: Mapping[str, Callable[[torch.device], Cases]] = {
    "activations": activations,
    "gate rows, biases": gate_rows_and_biases,
    "routing": routing,
    "token counts": token_counts,
    "odd sizes": odd_sizes,
    "activation formats": activation_formats,
    "other roundings": other_roundings,
    "weight formats": weight_formats,
    "weight layouts": weight_layouts,
    "profiles": profiles,
    "dtypes": dtypes,
    "shared experts": shared_experts,
    "values": values,
}
"""Name in the table -> its cases."""
