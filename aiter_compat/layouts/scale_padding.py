"""Padding of e8m0 block scales up to whole tiles."""

from __future__ import annotations

import torch
from torch import Tensor

from aiter_compat.layouts.tile_permutation import bit_view

PAD_SCALE_BYTE = 0x7F
"""e8m0 byte of the scale 1.0, which fills every pad.

AITER's `shuffle_scale_a16w4` writes it since v0.1.18; its `e8m0_shuffle` leaves pads uninitialised. A pad
scale only ever meets pad weights, but 0xFF (NaN) read from leftover memory would survive a multiplication by
zero.
"""


def pad_scale(scale: Tensor, rows: int, columns: int) -> Tensor:
    """Copy [..., n, c] one-byte scales into [..., rows, columns], filled up with `PAD_SCALE_BYTE`.

    Returns:
        `scale` itself when it has that size already.
    """
    if tuple(scale.shape[-2:]) == (rows, columns):
        return scale
    source = bit_view(scale)
    padded = torch.full((*scale.shape[:-2], rows, columns), PAD_SCALE_BYTE, dtype=torch.uint8, device=scale.device)
    padded[..., : scale.shape[-2], : scale.shape[-1]] = source
    return padded.view(scale.dtype)
