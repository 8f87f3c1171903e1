"""Small seeded layers on a device, with every part that a case may want to change as an argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from aiter_compat.backends.emulation.request import WeightFormat
from aiter_compat.formats import quantize
from aiter_compat.profiles import profile

SWIGLU = ActivationSpec("swiglu", limit=7.0)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a layer and its batch."""

    tokens: int = 33
    experts: int = 16
    choices: int = 4
    hidden: int = 512
    intermediate: int = 256


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        label: what is special about it.
        request: the call.
        finite: False where the result holds Inf or NaN; then the torch path says where, and fp64 is not asked.
    """

    label: str
    request: EmulationRequest
    finite: bool = field(default=True)


def make(
    device: torch.device,
    sizes: Sizes,
    *,
    seed: int = 0,
    activation: ActivationSpec = SWIGLU,
    activation_format: str = "mxfp4",
    weight_format: WeightFormat = "mxfp4",
    bias1: bool = False,
    bias2: bool = False,
    **fields: Any,
) -> EmulationRequest:
    """A request. `fields` replace those of EmulationRequest.

    Weights are drawn so that both GEMMs give values of about 1, which keeps every activation in its curved part.
    """
    random = torch.Generator(device).manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random, device=device)

    rows = sizes.intermediate * (2 if activation.gated else 1)
    w1 = quantize(normal(sizes.experts, rows, sizes.hidden) / sizes.hidden**0.5, weight_format)
    w2 = quantize(normal(sizes.experts, sizes.hidden, sizes.intermediate) / sizes.intermediate**0.5, weight_format)
    scores = torch.rand(sizes.tokens, sizes.experts, generator=random, device=device)
    weight, ids = torch.topk(torch.softmax(scores, -1), sizes.choices)
    given: dict[str, Any] = {
        "hidden_states": normal(sizes.tokens, sizes.hidden).to(torch.bfloat16),
        "w1": w1.codes,
        "w2": w2.codes,
        "w1_scale": w1.scales,
        "w2_scale": w2.scales,
        "topk_weight": weight,
        "topk_ids": ids.int(),
        "activation": activation,
        "quant_type": "per_1x32",
        "weight_format": weight_format,
        "qdq_first": activation_format,
        "qdq_second": activation_format,
        "profile": profile(),
        "out_dtype": torch.bfloat16,
        "bias1": normal(sizes.experts, rows) if bias1 else None,
        "bias2": normal(sizes.experts, sizes.hidden) if bias2 else None,
    }
    return EmulationRequest(**(given | fields))
