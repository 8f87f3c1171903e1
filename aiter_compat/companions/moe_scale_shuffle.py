"""`shuffle_scale_moe`: the block scales of AITER's Triton MoE kernels in the order of an architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, overload

from torch import Tensor

from aiter_compat.companions.architecture_name import device_architecture, get_gfx
from aiter_compat.companions.scale_tiles import by_quarters, row_by_row
from aiter_compat.companions.serving import native
from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts.size_rules import matrix_sizes

_DEFAULTS: dict[str, Any] = {"arch": None, "preshuffle_factor": 32, "scale_kwidth": 8, "return_layout": False}


@dataclass(frozen=True)
class _Order:
    """How one architecture reads scales.

    Attributes:
        label: what AITER's Triton kernels call it (their argument SWIZZLE_MX_SCALE).
        tiles: lays [..., N, C] out in tiles of the given rows and columns.
        step: both sizes of a tile are multiples of it.
    """

    label: str
    tiles: Callable[[Tensor, int, int], Tensor]
    step: int


_ORDERS: Mapping[str, _Order] = {
    "gfx950": _Order("CDNA4_SCALE", by_quarters, 2),
    "gfx1250": _Order("GFX1250_SCALE", row_by_row, 1),
}


@overload
def shuffle_scale_moe(
    data: Tensor,
    arch: str | None = None,
    preshuffle_factor: int = 32,
    scale_kwidth: int = 8,
    return_layout: Literal[False] = False,
    *,
    backend: str = "auto",
) -> Tensor: ...
@overload
def shuffle_scale_moe(
    data: Tensor,
    arch: str | None = None,
    preshuffle_factor: int = 32,
    scale_kwidth: int = 8,
    *,
    return_layout: Literal[True],
    backend: str = "auto",
) -> tuple[Tensor, str | None]: ...
def shuffle_scale_moe(
    data: Tensor,
    arch: str | None = None,
    preshuffle_factor: int = 32,
    scale_kwidth: int = 8,
    return_layout: bool = False,
    *,
    backend: str = "auto",
) -> Tensor | tuple[Tensor, str | None]:
    """AITER's `aiter.ops.triton.utils.shuffle.shuffle_scale_moe` (v0.1.18 on).

    Only gfx950 and gfx1250 have an order; for any other architecture `data` itself is returned, as in AITER since
    v0.1.20 (v0.1.18 and v0.1.19 fail there with UnboundLocalError).

    Args:
        data: uint8 or float8_e8m0fnu [E, C, N] or [C, N], C = K/32: scales [E, N, C] transposed.
        arch: "gfx950", "gfx1250", …; None for that of the current device, which `GPU_ARCHS` names only where there is
            none.
        preshuffle_factor: rows (of N) of a tile, F: N must divide by it. Even on gfx950.
        scale_kwidth: columns (of C) of a tile: C must divide by it. Even on gfx950.
        return_layout: also return the name of the order.
        backend: auto, aiter or emulation.

    Returns:
        [E, C*F, N/F] (or [C*F, N/F]) of the same dtype, which is the transposed view of new memory [E, N/F, C*F]. With
        `return_layout` a pair: this, and "CDNA4_SCALE" for gfx950, "GFX1250_SCALE" for gfx1250, None for others.

    Raises:
        InvalidArgument: a rank, dtype or size that the order is not defined for.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    architecture = arch or device_architecture() or get_gfx()
    order = _ORDERS.get(architecture)
    if order is None:
        return (data, None) if return_layout else data
    _check(data, preshuffle_factor, scale_kwidth, order.step)
    arguments = {
        "data": data,
        "arch": architecture,
        "preshuffle_factor": preshuffle_factor,
        "scale_kwidth": scale_kwidth,
        "return_layout": return_layout,
    }
    call = native("shuffle_scale_moe", arguments, data.device, backend, defaults=_DEFAULTS)
    if call is not None:
        served: Tensor | tuple[Tensor, str | None] = call()
        return served
    shuffled = order.tiles(data.transpose(-1, -2), preshuffle_factor, scale_kwidth).transpose(-1, -2)
    return (shuffled, order.label) if return_layout else shuffled


def _check(data: Any, rows: Any, columns: Any, step: int) -> None:
    _, stored_columns, stored_rows = matrix_sizes("data", data, one_byte=True)
    for argument, size in (("preshuffle_factor", rows), ("scale_kwidth", columns)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1 or size % step:
            raise InvalidArgument(argument, size, f"a positive whole number{', even' if step > 1 else ''}")
    if stored_rows % rows or stored_columns % columns:
        raise InvalidArgument(
            "data",
            f"shape {tuple(data.shape)}",
            f"[E, C, N] or [C, N], N a multiple of {rows} (preshuffle_factor) and C of {columns} (scale_kwidth)",
        )
