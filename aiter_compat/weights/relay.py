"""Move weights between layouts, and the layout that AITER's kernels read."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from aiter_compat.errors import InvalidArgument
from aiter_compat.layer_config import MoEConfig
from aiter_compat.layouts import (
    shuffle_16x16,
    shuffle_a16w4,
    shuffle_scale_a16w4,
    shuffle_scale_e8m0,
    unshuffle_16x16,
    unshuffle_a16w4,
    unshuffle_scale_a16w4,
    unshuffle_scale_e8m0,
)
from aiter_compat.weights.moe_weights import MoEWeights

LAYOUTS = ("logical", "shuffle_16x16", "a16w4")


def target_layout(config: MoEConfig) -> str:
    """The layout that AITER's kernels read for this layer.

    Interleaved gate/up over MXFP4 means a16w4, everything else 16x16 tiles (v0.1.15.post3,
    op_tests/test_moe_2stage.py).
    """
    return "a16w4" if config.weight.quant_type == "per_1x32" and config.gate_mode == "interleave" else "shuffle_16x16"


def relay_weights(weights: MoEWeights, layout: str, *, pad_scale_columns: bool = False) -> MoEWeights:
    """The same weights in another layout; the same object when they lie in it already. Biases never move.

    Shuffled w1 and w2 carry AITER's mark `is_shuffled`, so that outside `MoEWeights` they are neither read as rows nor
    shuffled a second time.

    Args:
        weights: in any layout.
        layout: the one wanted.
        pad_scale_columns: round the columns of a16w4 scales up to 8, as AITER does since v0.1.18; else a hidden or
            intermediate size that is no multiple of 256 is refused there.

    Raises:
        InvalidArgument: unknown layout, or sizes that it does not allow.
    """
    if layout not in LAYOUTS:
        raise InvalidArgument("layout", layout, ", ".join(LAYOUTS))
    if weights.layout == layout:
        return weights
    logical = weights if weights.layout == "logical" else _to_logical(weights)
    return logical if layout == "logical" else _marked(_from_logical(logical, layout, pad_scale_columns))


def _marked(weights: MoEWeights) -> MoEWeights:
    for weight in (weights.w1, weights.w2):  # made by the shuffle just now, so nobody else's tensors
        weight.is_shuffled = True  # type: ignore[attr-defined]
    return weights


def _from_logical(weights: MoEWeights, layout: str, pad_scale_columns: bool) -> MoEWeights:
    gated = _gated(weights)
    if layout == "a16w4":
        return dataclasses.replace(
            weights,
            w1=shuffle_a16w4(weights.w1, gated),
            w2=shuffle_a16w4(weights.w2, False),
            w1_scale=shuffle_scale_a16w4(
                _scale(weights.w1_scale), weights.w1.shape[0], gated, pad_columns=pad_scale_columns
            ),
            w2_scale=shuffle_scale_a16w4(
                _scale(weights.w2_scale), weights.w2.shape[0], False, pad_columns=pad_scale_columns
            ),
            layout=layout,
        )
    scales: dict[str, Any] = {}
    if _has_block_scales(weights):
        scales = {
            "w1_scale": shuffle_scale_e8m0(_scale(weights.w1_scale)),
            "w2_scale": shuffle_scale_e8m0(_scale(weights.w2_scale)),
        }
    return dataclasses.replace(
        weights, w1=shuffle_16x16(weights.w1), w2=shuffle_16x16(weights.w2), layout=layout, **scales
    )


def _to_logical(weights: MoEWeights) -> MoEWeights:
    gated = _gated(weights)
    if weights.layout == "a16w4":
        return dataclasses.replace(
            weights,
            w1=unshuffle_a16w4(weights.w1, gated),
            w2=unshuffle_a16w4(weights.w2, False),
            w1_scale=unshuffle_scale_a16w4(
                _scale(weights.w1_scale), weights.w1.shape[0], gated, columns=_blocks(weights.w1, weights)
            ),
            w2_scale=unshuffle_scale_a16w4(
                _scale(weights.w2_scale), weights.w2.shape[0], False, columns=_blocks(weights.w2, weights)
            ),
            layout="logical",
        )
    scales: dict[str, Any] = {}
    if _has_block_scales(weights):
        scales = {
            "w1_scale": _unshuffled_scale(weights.w1, _scale(weights.w1_scale), weights.weight_format),
            "w2_scale": _unshuffled_scale(weights.w2, _scale(weights.w2_scale), weights.weight_format),
        }
    return dataclasses.replace(
        weights, w1=unshuffle_16x16(weights.w1), w2=unshuffle_16x16(weights.w2), layout="logical", **scales
    )


def _blocks(weight: torch.Tensor, weights: MoEWeights) -> int:
    """Scales in one row of a weight."""
    return weight.shape[2] * (2 if weights.weight_format == "mxfp4" else 1) // 32


def _unshuffled_scale(weight: torch.Tensor, scale: torch.Tensor, weight_format: str) -> torch.Tensor:
    experts, rows, stored = weight.shape
    blocks = stored * (2 if weight_format == "mxfp4" else 1) // 32
    return unshuffle_scale_e8m0(scale, experts * rows, blocks).view(experts, rows, blocks)


def _gated(weights: MoEWeights) -> bool:
    per_byte = 2 if weights.weight_format == "mxfp4" else 1
    return bool(weights.w1.shape[1] == 2 * weights.w2.shape[2] * per_byte)


def _has_block_scales(weights: MoEWeights) -> bool:
    return weights.weight_format.startswith("mx")


def _scale(scale: torch.Tensor | None) -> torch.Tensor:
    if scale is None:
        raise InvalidArgument("w1_scale and w2_scale", None, "the e8m0 scales of the weights")
    return scale
