"""Calls of `fused_moe` that together use every argument, each with the arguments that its output depends on.

Names stand for enum members ("swiglu", "per_1x32"), as aiter_compat takes them. A call is used twice: directly on a
stub, to see that the stub notices each argument's loss, and through aiter_compat, to see that none is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

TOKENS, TOP_K, EXPERTS, HIDDEN, INTERMEDIATE = 6, 2, 4, 256, 256
HIDDEN_PAD, INTERMEDIATE_PAD = 128, 64
_BLOCK, _TILE = 32, 128

Arguments = dict[str, Any]


@dataclass(frozen=True)
class SampleCall:
    """One call.

    Attributes:
        name: what it exercises.
        arguments: keyword arguments of `fused_moe`, tensors included.
        shows: arguments whose loss must change the output or raise.
        needs: arguments that the release must have; a separated Swiglu needs gate_mode, given or not.
        reference: what to replace in `arguments` for a backend that knows neither stored layouts nor pads.
        rows: rows of the output that are defined.
    """

    name: str
    arguments: Arguments
    shows: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    reference: Arguments = field(default_factory=dict)
    rows: int = TOKENS

    @property
    def reference_arguments(self) -> Arguments:
        """The same computation on logical, unpadded, unquantised or plainly packed weights."""
        return self.arguments | self.reference


def sample_calls() -> list[SampleCall]:
    """Every call, on seeded tensors that the calls share; needs an installed AITER's shuffle functions."""
    generator = torch.Generator().manual_seed(7)
    return [
        *_unquantised(generator),
        *_mxfp4_separated(generator),
        *_mxfp4_interleaved(generator),
        *_fp8(generator),
    ]


def _routing(generator: torch.Generator, experts: int = EXPERTS) -> Arguments:
    weights, ids = torch.rand(TOKENS, experts, generator=generator).topk(TOP_K)
    return {
        "hidden_states": torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16(),
        "topk_weight": weights,
        "topk_ids": ids.int(),
    }


def _biases(generator: torch.Generator) -> Arguments:
    return {
        "bias1": torch.randn(EXPERTS, 2 * INTERMEDIATE, generator=generator),
        "bias2": torch.randn(EXPERTS, HIDDEN, generator=generator),
    }


def _shapes() -> dict[str, tuple[int, int, int]]:
    return {"w1": (EXPERTS, 2 * INTERMEDIATE, HIDDEN), "w2": (EXPERTS, HIDDEN, INTERMEDIATE)}


def _unquantised(generator: torch.Generator) -> list[SampleCall]:
    weights = {name: torch.randn(shape, generator=generator).mul(0.2).bfloat16() for name, shape in _shapes().items()}
    base = _routing(generator) | weights
    biases = _biases(generator)
    global_ids = _routing(generator, experts=2 * EXPERTS)
    mask = torch.tensor([1, 0, 0, 1, 1, 0, 1, 0], dtype=torch.int32)
    pads: Arguments = {"hidden_pad": HIDDEN_PAD, "intermediate_pad": INTERMEDIATE_PAD}
    tuning: Arguments = {"block_size_M": 64, "moe_sorting_dispatch_policy": 1}
    return [
        SampleCall("unquantised silu", base),
        SampleCall("unquantised gelu", base | {"activation": "gelu"}, shows=("activation",)),
        SampleCall("unquantised swiglu", base | {"activation": "swiglu"}, shows=("activation",), needs=("gate_mode",)),
        SampleCall("biases", base | biases, shows=("bias1", "bias2")),
        SampleCall("expert mask", base | global_ids | {"expert_mask": mask}, shows=("expert_mask",)),
        SampleCall("weights applied in stage 1", base | {"doweight_stage1": True}, shows=("doweight_stage1",)),
        SampleCall(
            "tokens that exist",
            base | {"num_local_tokens": torch.tensor([4], dtype=torch.int32)},
            shows=("num_local_tokens",),
            rows=4,
        ),
        SampleCall("output dtype", base | {"dtype": torch.float16}, shows=("dtype",)),
        SampleCall(
            "pads",
            base | biases | pads,
            shows=("hidden_pad", "intermediate_pad"),
            reference=_zeroed(base | biases) | {"hidden_pad": 0, "intermediate_pad": 0},
        ),
        SampleCall("tuning", base | tuning),
        SampleCall("limit on silu", base | {"swiglu_limit": 0.75}, shows=("swiglu_limit",), needs=("swiglu_limit",)),
        SampleCall(
            "no limit on swiglu",
            base | {"activation": "swiglu", "swiglu_limit": float("inf")},
            shows=("swiglu_limit",),
            needs=("swiglu_limit", "gate_mode"),
        ),
    ]


def _mxfp4_separated(generator: torch.Generator) -> list[SampleCall]:
    logical = _routing(generator) | _mxfp4(generator)
    shuffled = _stored(logical, _shuffled_weight, _shuffled_scale)
    swiglu: Arguments = {"activation": "swiglu", "swiglu_limit": 2.0, "gate_mode": "separated"}
    scales = ("w1_scale", "w2_scale")
    return [
        SampleCall("mxfp4 logical", logical | {"weight_layout": "logical"}, shows=("quant_type", *scales)),
        SampleCall("mxfp4 shuffled", logical | shuffled, shows=("quant_type", *scales), reference=logical),
        SampleCall(
            "mxfp4 separated swiglu with limit and bias",
            logical | shuffled | swiglu | _biases(generator),
            shows=("activation", "swiglu_limit", "bias1", "bias2"),
            needs=("gate_mode", "swiglu_limit"),
            reference=logical,
        ),
    ]


def _mxfp4_interleaved(generator: torch.Generator) -> list[SampleCall]:
    logical = _routing(generator) | _mxfp4(generator)
    stored = _stored(logical, _interleaved_weight, _interleaved_scale)
    interleaved = logical | stored | {"gate_mode": "interleave"}
    reference = logical | {"gate_mode": "separated"}
    return [
        SampleCall(
            "mxfp4 interleaved swiglu with bias",
            interleaved | {"activation": "swiglu"} | _biases(generator),
            shows=("activation", "gate_mode", "bias1", "bias2"),
            reference=reference,
        ),
        SampleCall(
            "mxfp4 interleaved silu",
            interleaved | {"activation": "silu"},
            shows=("gate_mode",),
            needs=("gate_mode",),
            reference=reference,
        ),
    ]


def _fp8(generator: torch.Generator) -> list[SampleCall]:
    """Scales are powers of two, so that bf16 holds the decoded weights exactly."""
    codes = {name: torch.randn(shape, generator=generator).to(torch.float8_e4m3fn) for name, shape in _shapes().items()}
    base = _routing(generator)
    calls = []
    for quant_type, tiled in (("per_token", False), ("per_tensor", False), ("per_128x128", True)):
        scales: Arguments = {}
        decoded: Arguments = {}
        for name, (experts, rows, columns) in _shapes().items():
            shape = (
                (experts, rows // _TILE, columns // _TILE)
                if tiled
                else (experts, rows if quant_type == "per_token" else 1, 1)
            )
            scale = torch.randint(-4, -1, shape, generator=generator).float().exp2()
            scales[f"{name}_scale"] = scale
            spread = scale.repeat_interleave(_TILE, 1).repeat_interleave(_TILE, 2) if tiled else scale
            decoded[name] = (codes[name].float() * spread).bfloat16()
        unquantised: Arguments = {"quant_type": "no", "w1_scale": None, "w2_scale": None, "weight_layout": "logical"}
        calls.append(
            SampleCall(
                f"fp8 {quant_type}",
                base | codes | scales | {"quant_type": quant_type, "weight_layout": "logical"},
                shows=("quant_type", *scales),
                reference=decoded | unquantised,
            )
        )
    return calls


def _mxfp4(generator: torch.Generator) -> Arguments:
    """Packed e2m1 weights [E, N, K/2] with e8m0 scales [E*N, K/32], logical layout."""
    made: Arguments = {"quant_type": "per_1x32"}
    for name, (experts, rows, columns) in _shapes().items():
        packed = torch.randint(0, 256, (experts, rows, columns // 2), generator=generator, dtype=torch.uint8)
        scales = torch.randint(122, 125, (experts * rows, columns // _BLOCK), generator=generator)
        made[name] = packed.view(torch.float4_e2m1fn_x2)
        made[f"{name}_scale"] = scales.to(torch.uint8).view(torch.float8_e8m0fnu)
    return made


def _stored(
    logical: Arguments,
    weight: Callable[[torch.Tensor, bool], torch.Tensor],
    scale: Callable[[torch.Tensor, bool], torch.Tensor],
) -> Arguments:
    stored: Arguments = {}
    for name, gate_up in (("w1", True), ("w2", False)):
        stored[name] = weight(logical[name], gate_up)
        stored[f"{name}_scale"] = scale(logical[f"{name}_scale"], gate_up)
    return stored


def _shuffled_weight(weight: torch.Tensor, gate_up: bool) -> torch.Tensor:
    from aiter.ops.shuffle import shuffle_weight

    del gate_up  # the two halves stay where they are
    shuffled: torch.Tensor = shuffle_weight(weight, layout=(16, 16))
    return shuffled


def _shuffled_scale(scale: torch.Tensor, gate_up: bool) -> torch.Tensor:
    from aiter.utility.fp4_utils import e8m0_shuffle

    del gate_up
    shuffled: torch.Tensor = e8m0_shuffle(scale)
    return shuffled


def _interleaved_weight(weight: torch.Tensor, gate_up: bool) -> torch.Tensor:
    from aiter.ops.shuffle import shuffle_weight_a16w4

    shuffled: torch.Tensor = shuffle_weight_a16w4(weight, 16, gate_up)
    return shuffled


def _interleaved_scale(scale: torch.Tensor, gate_up: bool) -> torch.Tensor:
    from aiter.ops.shuffle import shuffle_scale_a16w4

    shuffled: torch.Tensor = shuffle_scale_a16w4(scale, EXPERTS, gate_up)
    return shuffled


def _zeroed(arguments: Arguments) -> Arguments:
    """The call's tensors with zeros where its pads are."""
    dead_hidden = torch.arange(HIDDEN) >= HIDDEN - HIDDEN_PAD
    dead_inner = torch.arange(INTERMEDIATE) >= INTERMEDIATE - INTERMEDIATE_PAD
    dead_rows = dead_inner.repeat(2)
    return {
        "w1": arguments["w1"].masked_fill(dead_rows[:, None] | dead_hidden, 0),
        "w2": arguments["w2"].masked_fill(dead_hidden[:, None] | dead_inner, 0),
        "bias1": arguments["bias1"].masked_fill(dead_rows, 0),
        "bias2": arguments["bias2"].masked_fill(dead_hidden, 0),
    }
