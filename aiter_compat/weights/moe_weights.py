"""`MoEWeights`: weights, scales and biases of one layer together with the layout they lie in."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, eq=False)
class MoEWeights:
    """One layer's experts, ready for a backend; made by `ac.prepare_weights`.

    The layout travels in this object because AITER's own mark, the attribute `is_shuffled`, is lost by `nn.Parameter`,
    `.data` and `.to()` (ROCm/aiter#4542).

    Attributes:
        w1: [E, 2*I, H] (packed: H/2 bytes), or [E, I, H] without an up half.
        w2: [E, H, I] (packed: I/2 bytes).
        w1_scale: scales of w1 in the layout that belongs to `layout`; None for unquantised weights.
        w2_scale: scales of w2.
        bias1: [E, 2*I] in the order [gate; up] whatever the layout, or None.
        bias2: [E, H] or None.
        layout: "logical" (rows [gate; up]), "shuffle_16x16" or "a16w4".
        weight_format: as `MoEConfig.weight_format`.
    """

    w1: torch.Tensor
    w2: torch.Tensor
    w1_scale: torch.Tensor | None
    w2_scale: torch.Tensor | None
    bias1: torch.Tensor | None
    bias2: torch.Tensor | None
    layout: str
    weight_format: str

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.w1.device

    def to(self, device: torch.device | str) -> MoEWeights:
        """The same weights on another device; the layout stays known."""
        moved: dict[str, Any] = {
            field.name: value.to(device)
            for field in dataclasses.fields(self)
            if isinstance(value := getattr(self, field.name), torch.Tensor)
        }
        return dataclasses.replace(self, **moved)

    def __repr__(self) -> str:
        return (
            f"MoEWeights({self.weight_format}, layout={self.layout!r}, w1={list(self.w1.shape)}, "
            f"w2={list(self.w2.shape)}, bias={'yes' if self.bias1 is not None else 'no'}, device={self.device})"
        )
