"""The loop that all scaled floating-point formats share: rows of elements, one scale a row.

On a CPU the rows are taken in pieces, since each pass over a large tensor would otherwise go through memory. A piece
fits the cache and is no longer than what torch gives to one thread: waking a team of threads for each short pass costs
more than it brings, and on a busy machine very much more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from aiter_compat.formats.element_rounding import encode, round_to_element_
from aiter_compat.formats.elements import Element

PIECE_ELEMENTS = 1 << 15
"""torch splits an elementwise pass among threads above this size (at::internal::GRAIN_SIZE)."""


class GroupScale(NamedTuple):
    """Scales of n groups.

    Attributes:
        stored: what a file keeps, [n, 1]: e8m0 bytes as int32, or fp32.
        value: fp32 [n, 1].
        reciprocal: fp32 [n, 1] to multiply by, or None to divide by `value`.
    """

    stored: Tensor
    value: Tensor
    reciprocal: Tensor | None


Scaling = Callable[[Tensor], GroupScale]
"""From groups, [n, size] of any floating dtype, to their scales."""


def qdq_groups(groups: Tensor, scaling: Scaling, element: Element, dtype: torch.dtype) -> Tensor:
    """Quantise and dequantise.

    Args:
        groups: [n, size], any floating dtype.
        scaling: rule of the scale.
        element: element format.
        dtype: of the result.

    Returns:
        [n, size].
    """
    result = torch.empty(groups.shape, dtype=dtype, device=groups.device)
    scale = scaling(groups)
    for rows, rounded in _rounded_pieces(groups, scale, element):
        result[rows].copy_(rounded.mul_(scale.value[rows]))
    return result


def quantize_groups(groups: Tensor, scaling: Scaling, element: Element) -> tuple[Tensor, Tensor]:
    """Quantise.

    Args:
        groups: [n, size], any floating dtype.
        scaling: rule of the scale.
        element: element format.

    Returns:
        codes uint8 [n, size], and the stored scales [n, 1].
    """
    codes = torch.empty(groups.shape, dtype=torch.uint8, device=groups.device)
    scale = scaling(groups)
    for rows, rounded in _rounded_pieces(groups, scale, element):
        codes[rows].copy_(encode(rounded, element))
    return codes, scale.stored


def largest_magnitudes(groups: Tensor) -> Tensor:
    """The largest magnitude of each group, [n, size] of any floating dtype to fp32 [n, 1]; NaN wins over all."""
    largest = torch.zeros(groups.shape[0], 1, device=groups.device)
    if groups.numel():
        for rows in row_pieces(groups.shape[0], groups.shape[1], groups.device):
            torch.amax(groups[rows].float().abs(), -1, keepdim=True, out=largest[rows])
    return largest


def row_pieces(rows: int, size: int, device: torch.device) -> Iterator[slice]:
    """Slices that cover `rows` rows of `size` elements, each small enough for a CPU's cache."""
    step = max(1, rows if device.type != "cpu" else PIECE_ELEMENTS // max(1, size))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _rounded_pieces(groups: Tensor, scale: GroupScale, element: Element) -> Iterator[tuple[slice, Tensor]]:
    """The elements on the grid, before they are multiplied back; the buffer is reused by the next piece."""
    buffers: tuple[Tensor, Tensor, Tensor] | None = None
    for rows in row_pieces(groups.shape[0], groups.shape[1], groups.device):
        piece = groups[rows]
        if buffers is None:
            buffers = (
                torch.empty(piece.shape, dtype=torch.float32, device=groups.device),
                torch.empty(piece.shape, dtype=torch.float32, device=groups.device),
                torch.empty(piece.shape, dtype=torch.int32, device=groups.device),
            )
        y, rounded, magic = (buffer[: len(piece)] for buffer in buffers)
        y.copy_(piece)
        if scale.reciprocal is None:
            y.div_(scale.value[rows])
        else:
            y.mul_(scale.reciprocal[rows])
        yield rows, round_to_element_(y, element, magic, rounded)
