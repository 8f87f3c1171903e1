"""Which sizes a layout can hold, as data, and the errors for those it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from aiter_compat.errors import InvalidArgument

LayoutName = Literal["shuffle_16x16", "a16w4", "a16w4_gate_up", "scale_e8m0", "scale_a16w4", "scale_a16w4_gate_up"]


@dataclass(frozen=True)
class LayoutRequirements:
    """Sizes that a layout is defined for.

    Rows are the output features N of one expert ([gate; up] together where `gate_up`), columns are elements
    as stored: bytes of two codes for packed fp4, one e8m0 scale per 32 values for scales.

    Attributes:
        layout: name of the layout.
        row_multiple: stored rows are a multiple of this (of all experts together for "scale_e8m0").
        column_multiple: stored columns are a multiple of this.
        self_padding: the shuffle itself pads, so that every size is legal and the result may be larger.
        gate_up: the rows are two halves, gate then up, each of half the size.
        source: where the rule is from.
    """

    layout: LayoutName
    row_multiple: int
    column_multiple: int
    self_padding: bool
    gate_up: bool
    source: str

    def padded_size(self, rows: int, columns: int) -> tuple[int, int]:
        """The smallest (rows, columns) of this layout that hold the given ones."""
        return _round_up(rows, self.row_multiple), _round_up(columns, self.column_multiple)

    def allows(self, rows: int, columns: int) -> bool:
        """Whether the shuffle takes this size as it is."""
        return self.self_padding or self.padded_size(rows, columns) == (rows, columns)


_SHUFFLE = "AITER v0.1.15.post3 aiter/ops/shuffle.py"

# A tile is 16 rows by 32 columns (16x16), 16 rows by 64 bytes (a16w4) or 32 rows by 8 scales. Gate and up
# rows are paired tile by tile, so each half must be whole tiles; in the scale layouts one tile holds 16 rows
# of each.
_REQUIREMENTS: dict[str, LayoutRequirements] = {
    entry.layout: entry
    for entry in (
        LayoutRequirements("shuffle_16x16", 16, 32, False, False, f"{_SHUFFLE}: shuffle_weight"),
        LayoutRequirements("a16w4", 16, 64, False, False, f"{_SHUFFLE}: shuffle_weight_a16w4"),
        LayoutRequirements("a16w4_gate_up", 32, 64, False, True, f"{_SHUFFLE}: shuffle_weight_a16w4"),
        LayoutRequirements("scale_e8m0", 256, 8, True, False, f"{_SHUFFLE}: shuffle_scale"),
        LayoutRequirements("scale_a16w4", 32, 8, False, False, f"{_SHUFFLE}: shuffle_scale_a16w4"),
        LayoutRequirements("scale_a16w4_gate_up", 32, 8, False, True, f"{_SHUFFLE}: shuffle_scale_a16w4"),
    )
}


def layout_requirements(layout: str) -> LayoutRequirements:
    """The sizes that `layout` is defined for.

    Args:
        layout: "shuffle_16x16", "a16w4" or "a16w4_gate_up" (weights), "scale_e8m0", "scale_a16w4" or
            "scale_a16w4_gate_up" (scales).

    Raises:
        InvalidArgument: unknown layout.
    """
    try:
        return _REQUIREMENTS[layout]
    except (KeyError, TypeError):
        raise InvalidArgument("layout", layout, ", ".join(_REQUIREMENTS)) from None


def matrix_sizes(argument: str, tensor: Tensor, *, one_byte: bool = False) -> tuple[int, int, int]:
    """(experts, rows, columns) of a [N, K] or [E, N, K] tensor; experts is 1 for two dimensions.

    Raises:
        InvalidArgument: not a tensor, another rank, or an element that is not one byte where `one_byte`.
    """
    if not isinstance(tensor, Tensor):
        raise InvalidArgument(argument, type(tensor).__name__, "a torch.Tensor")
    if tensor.ndim not in (2, 3):
        raise InvalidArgument(
            argument,
            f"{tensor.ndim} dimensions, shape {tuple(tensor.shape)}",
            "two or three dimensions: [rows, columns] or [experts, rows, columns]",
        )
    if one_byte and tensor.element_size() != 1:
        raise InvalidArgument(
            argument,
            str(tensor.dtype),
            f"{torch.uint8} or float8_e8m0fnu: one byte per block of 32 values",
            "Only e8m0 block scales have a shuffled layout; pass fp32 scales to the kernel as they are.",
        )
    experts = tensor.shape[0] if tensor.ndim == 3 else 1
    return experts, tensor.shape[-2], tensor.shape[-1]


def check_sizes(
    argument: str,
    tensor: Tensor,
    requirements: LayoutRequirements,
    rows: int,
    columns: int,
    *,
    remedy: str = "",
) -> None:
    """Refuse a size that the layout is not defined for.

    Args:
        argument: name of the argument that holds `tensor`.
        tensor: as the caller passed it, for the message.
        requirements: of the layout.
        rows: rows of one expert.
        columns: columns as stored.
        remedy: a further way out, named after the usual ones.

    Raises:
        InvalidArgument: rows or columns are not a multiple of the layout's tile.
    """
    whole = requirements.padded_size(rows, columns)
    halves = " (gate and up each to half of that)" if requirements.gate_up else ""
    for axis, size, multiple, padded, how in (
        ("rows per expert", rows, requirements.row_multiple, whole[0], halves),
        ("columns as stored", columns, requirements.column_multiple, whole[1], ""),
    ):
        if size != padded:
            raise InvalidArgument(
                argument,
                f"{size} {axis} (shape {tuple(tensor.shape)})",
                f"a multiple of {multiple} for layout {requirements.layout!r}",
                f"Pad to {padded} {axis}{how}, or keep the logical layout. {remedy}".rstrip(),
            )


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
