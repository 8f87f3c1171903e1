"""A dense fp64 MoE in numpy that shares no code with aiter_compat: what the tests compare with."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E2M1_CODES = np.concatenate([_E2M1, -_E2M1])
_E4M3 = np.array(
    [m / 8 * 2.0**-6 for m in range(8)]
    + [(1 + m / 8) * 2.0 ** (e - 7) for e in range(1, 16) for m in range(8) if (e, m) != (15, 7)]
)


def unpack_mxfp4(packed: NDArray[np.uint8], scales: NDArray[np.uint8]) -> Array:
    """[..., K/2] bytes (low nibble = even k) and [..., K/32] e8m0 bytes to values."""
    codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)
    blocks = E2M1_CODES[codes].reshape(*codes.shape[:-1], -1, 32)
    return (blocks * np.exp2(scales.astype(np.float64) - 127)[..., None]).reshape(codes.shape)


def _nearest_even(values: Array, grid: Array) -> Array:
    """Round magnitudes to a grid, ties to the entry with an even index, saturating at the last entry."""
    magnitude = np.minimum(np.abs(values), grid[-1])
    above = np.clip(np.searchsorted(grid, magnitude), 1, len(grid) - 1)
    low, high = grid[above - 1], grid[above]
    middle = (low + high) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    return np.copysign(np.where(up, high, low), values)


def qdq_mx(values: Array, kind: str) -> Array:
    """MXFP4 or MXFP8 (e4m3) blocks of 32 by AITER's rule up to v0.1.15: exponent up from a significand of 1.5."""
    grid, shift = (_E2M1, 2) if kind == "mxfp4" else (_E4M3, 8)
    blocks = values.reshape(*values.shape[:-1], -1, 32)
    largest = np.abs(blocks).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(largest))
    exponent = np.where(np.isfinite(exponent), exponent, -100)
    scale = np.exp2(exponent + (largest / np.exp2(exponent) >= 1.5) - shift)
    return (_nearest_even(blocks / scale, grid) * scale).reshape(values.shape)


def round_bf16(values: Array) -> Array:
    """Round to bfloat16, ties to even (values in bfloat16's normal range)."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 256) / 256, exponent)


_erf = np.vectorize(math.erf, otypes=[np.float64])


def dense_moe(
    x: Array,
    w1: Array,
    w2: Array,
    weights: Array,
    ids: NDArray[np.int64],
    *,
    activation: str = "silu",
    gated: bool = True,
    limit: float | None = None,
    bias1: Array | None = None,
    bias2: Array | None = None,
    qdq: str = "none",
    doweight_stage1: bool = False,
    round_intermediate: bool = True,
) -> Array:
    """[M, H] fp64. Slots whose id is outside the experts contribute nothing."""
    quantise = (lambda v: v) if qdq == "none" else (lambda v: qdq_mx(v, qdq))
    x = quantise(x)
    result = np.zeros((x.shape[0], w2.shape[1]))
    for token, slot in np.ndindex(*ids.shape):
        expert, weight = ids[token, slot], weights[token, slot]
        if not 0 <= expert < len(w1):
            continue
        y = w1[expert] @ x[token]
        y = y * weight if doweight_stage1 else y
        y = y if bias1 is None else y + bias1[expert]
        gate, up = np.split(y, 2) if gated else (y, np.ones_like(y))
        if limit is not None:
            gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
        if activation == "swiglu":
            y = gate / (1 + np.exp(-1.702 * gate)) * (up + 1)
        elif activation == "gelu":
            y = gate * (1 + _erf(gate / math.sqrt(2))) / 2 * up
        elif activation == "relu2":
            y = np.maximum(gate, 0) ** 2 * up
        else:
            y = gate / (1 + np.exp(-gate)) * up
        y = quantise(round_bf16(y) if round_intermediate else y)
        y = w2[expert] @ y
        y = y if bias2 is None else y + bias2[expert]
        result[token] += y if doweight_stage1 else y * weight
    return result
