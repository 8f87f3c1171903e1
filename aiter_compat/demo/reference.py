"""A dense reference of MXFP4 experts, written apart from aiter_compat: it imports nothing of it.

Everything is float64 and spelled out: element grids, shared exponents, a loop over experts. The rules are
those of AITER v0.1.15.post3 (aiter/utility/fp4_utils.py, aiter/ops/quant.py, aiter/fused_moe.py), and Quark's
for weights:

* a block is 32 neighbours along the last dimension; its scale is the power of two
  2^(E + [m >= threshold] - emax), where the largest magnitude is m * 2^E with m in [1, 2);
* activations: threshold 1.5; weights: threshold 1.75 (Quark's "even"); emax is 2 for e2m1 and 8 for e4m3;
* elements round to nearest, ties to the even code, and saturate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

BLOCK = 32
ACTIVATION_THRESHOLD = 1.5
WEIGHT_THRESHOLD = 1.75

E2M1_GRID = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E2M1_EMAX = 2
E4M3_EMAX = 8
E4M3_MAX = 448.0
E4M3_MIN_EXPONENT = -6
E4M3_MANTISSA_BITS = 3

Qdq = Literal["mxfp4", "mxfp8"]


@dataclass(frozen=True)
class Rules:
    """What decides the result of an experts layer.

    Attributes:
        rows: how w1's rows lie: "interleaved" (g0, u0, g1, u1, ...) or "separated" ([gate; up]).
        transposed: parameters are [E, K, N] rather than [E, N, K].
        qdq: format of the input of both GEMMs, None for none.
        alpha: gain inside the sigmoid.
        limit: clamp of gate (above) and up (both sides); infinity is no clamp.
    """

    rows: Literal["interleaved", "separated"]
    transposed: bool
    qdq: Qdq | None
    alpha: float
    limit: float


@dataclass
class Clamped:
    """How many gate and up values the limit touched."""

    touched: int = 0
    seen: int = 0

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return self.touched / self.seen if self.seen else 0.0


@dataclass
class DenseReference:
    """An experts function for transformers that follows `rules`, which may be exchanged between runs."""

    rules: Rules
    clamped: Clamped = field(default_factory=Clamped)
    _weights: dict[tuple[int, bool], tuple[Tensor, Tensor]] = field(default_factory=dict)

    def __call__(self, experts: Any, hidden_states: Tensor, ids: Tensor, topk_weights: Tensor) -> Tensor:
        """Run the module's unquantised parameters, quantised here.

        Args:
            experts: the module, with gate_up_proj, down_proj and perhaps biases.
            hidden_states: [T, H].
            ids: [T, k].
            topk_weights: [T, k].
        """
        rules, dtype = self.rules, hidden_states.dtype
        w1, w2 = self._dequantised(experts)
        bias1 = getattr(experts, "gate_up_proj_bias", None)
        bias2 = getattr(experts, "down_proj_bias", None)
        tokens = _qdq_activation(hidden_states.double(), rules.qdq)
        total = torch.zeros_like(tokens)
        for expert in range(len(w1)):
            token, slot = torch.where(ids == expert)
            if len(token) == 0:
                continue
            rows = tokens[token] @ w1[expert].T
            if bias1 is not None:
                rows = rows + bias1[expert].double()
            # What leaves the first GEMM's epilogue is stored in the model's dtype.
            inner = self._activation(rows).to(dtype).double()
            out = _qdq_activation(inner, rules.qdq) @ w2[expert].T
            if bias2 is not None:
                out = out + bias2[expert].double()
            total[token] += out * topk_weights[token, slot, None].double()  # a token meets an expert once
        return total.to(dtype)

    def _activation(self, rows: Tensor) -> Tensor:
        if self.rules.rows == "interleaved":
            gate, up = rows[:, 0::2], rows[:, 1::2]
        else:
            half = rows.shape[1] // 2
            gate, up = rows[:, :half], rows[:, half:]
        limit = self.rules.limit
        if math.isfinite(limit):
            self.clamped.touched += int((gate > limit).sum() + (up.abs() > limit).sum())
            self.clamped.seen += rows.numel()
            gate, up = gate.clamp(max=limit), up.clamp(min=-limit, max=limit)
        return gate / (1 + torch.exp(-self.rules.alpha * gate)) * (up + 1)

    def _dequantised(self, experts: Any) -> tuple[Tensor, Tensor]:
        key = (id(experts), self.rules.transposed)
        if key not in self._weights:
            both = []
            for parameter in (experts.gate_up_proj, experts.down_proj):
                weight = parameter.detach().double()
                weight = weight.transpose(1, 2) if self.rules.transposed else weight
                both.append(qdq_mx(weight.contiguous(), E2M1_EMAX, WEIGHT_THRESHOLD, round_e2m1))
            self._weights[key] = (both[0], both[1])
        return self._weights[key]


def _qdq_activation(values: Tensor, qdq: Qdq | None) -> Tensor:
    if qdq is None:
        return values
    if qdq == "mxfp4":
        return qdq_mx(values, E2M1_EMAX, ACTIVATION_THRESHOLD, round_e2m1)
    return qdq_mx(values, E4M3_EMAX, ACTIVATION_THRESHOLD, round_e4m3)


def qdq_mx(values: Tensor, emax: int, threshold: float, round_elements: Callable[[Tensor], Tensor]) -> Tensor:
    """Quantise and dequantise float64 values in blocks of 32 along the last dimension."""
    blocks = values.reshape(*values.shape[:-1], -1, BLOCK)
    half_mantissa, exponent = torch.frexp(blocks.abs().amax(-1, keepdim=True))  # mantissa in [0.5, 1)
    carried = (2 * half_mantissa >= threshold).to(exponent.dtype)
    scale = torch.ldexp(torch.ones_like(half_mantissa), exponent - 1 + carried - emax)
    return (round_elements(blocks / scale) * scale).flatten(-2)


def round_e2m1(quotients: Tensor) -> Tensor:
    """Round to the grid of e2m1; a tie goes to the even code, the largest magnitude is 6."""
    grid = torch.tensor(E2M1_GRID, dtype=quotients.dtype)
    middles = (grid[:-1] + grid[1:]) / 2
    magnitude = quotients.abs()
    below = torch.searchsorted(middles, magnitude)  # a tie counts as below
    above = torch.searchsorted(middles, magnitude, right=True)  # a tie counts as above
    code = torch.where(below % 2 == 0, below, above)
    return torch.copysign(grid[code], quotients)


def round_e4m3(quotients: Tensor) -> Tensor:
    """Round to the grid of e4m3 (finite, saturating at 448), subnormals included."""
    _, exponent = torch.frexp(quotients)
    step = torch.ldexp(torch.ones_like(quotients), (exponent - 1).clamp(min=E4M3_MIN_EXPONENT) - E4M3_MANTISSA_BITS)
    return (torch.round(quotients / step) * step).clamp(-E4M3_MAX, E4M3_MAX)  # torch.round takes ties to even
