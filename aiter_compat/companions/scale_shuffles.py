"""AITER's shuffles of e8m0 block scales under their own names; bytes as in `aiter_compat.layouts`.

None and fp32 scales pass through as they are, as in AITER. AITER leaves the rows and columns that it pads
uninitialised; here they hold `aiter_compat.layouts.PAD_SCALE_BYTE` (2^0).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aiter_compat.companions.architecture_name import get_gfx
from aiter_compat.companions.scale_tiles import row_by_row
from aiter_compat.companions.serving import native
from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import interleave_rows, shuffle_scale_e8m0
from aiter_compat.layouts import shuffle_scale_a16w4 as a16w4_order
from aiter_compat.layouts.size_rules import matrix_sizes
from aiter_compat.layouts.tile_permutation import bit_view

_DEFAULTS: dict[str, Any] = {"experts_cnt": None, "is_guinterleave": False, "gate_up": False}
_ROW_INTERLEAVED = "gfx1250"
_TILE_ROWS = 32
_TILE_COLUMNS = 4


def e8m0_shuffle(scale: Tensor | None, *, backend: str = "auto") -> Tensor | None:
    """AITER's `aiter.utility.fp4_utils.e8m0_shuffle`, in every release from v0.1.5 to v0.1.20.post1.

    Args:
        scale: [m, n] uint8 or float8_e8m0fnu (experts flattened into m); None and fp32 are returned as they are.
        backend: auto, aiter or emulation.

    Returns:
        A new tensor [m rounded up to 256, n to 8] of the same dtype.

    Raises:
        InvalidArgument: another rank or dtype.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    if _passes_through(scale):
        return scale
    checked = _two_dimensional("scale", scale)
    call = native("e8m0_shuffle", {"scale": checked}, checked.device, backend)
    if call is not None:
        served: Tensor = call()
        return served
    return shuffle_scale_e8m0(checked)


def shuffle_scale(
    src: Tensor | None,
    experts_cnt: int | None = None,
    is_guinterleave: bool = False,
    gate_up: bool = False,
    *,
    backend: str = "auto",
) -> Tensor | None:
    """AITER's `aiter.ops.shuffle.shuffle_scale` (v0.1.14 on): `e8m0_shuffle`, or the a16w4 order.

    Args:
        src: [m, n] uint8 or float8_e8m0fnu (experts flattened into m); None and fp32 are returned as they are.
        experts_cnt: E, needed with `is_guinterleave`.
        is_guinterleave: the a16w4 order instead, see `shuffle_scale_a16w4`.
        gate_up: with it: rows are [gate; up].
        backend: auto, aiter or emulation.

    Returns:
        A new tensor of the same dtype: [m rounded up to 256, n to 8]; with `is_guinterleave` [m, n rounded up to 8].

    Raises:
        InvalidArgument: another rank, dtype or size.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    if _passes_through(src):
        return src
    checked = _two_dimensional("src", src)
    if is_guinterleave and experts_cnt is None:
        raise InvalidArgument("experts_cnt", None, "the number of experts, with is_guinterleave=True")
    arguments = {"src": checked, "experts_cnt": experts_cnt, "is_guinterleave": is_guinterleave, "gate_up": gate_up}
    call = native("shuffle_scale", arguments, checked.device, backend, defaults=_DEFAULTS)
    if call is not None:
        served: Tensor = call()
        return served
    if not is_guinterleave:
        return shuffle_scale_e8m0(checked)
    return a16w4_order(checked, experts_cnt, gate_up, pad_columns=True)


def shuffle_scale_a16w4(src: Tensor | None, experts_cnt: int, gate_up: bool, *, backend: str = "auto") -> Tensor | None:
    """AITER's `aiter.ops.shuffle.shuffle_scale_a16w4` (v0.1.6.post2 on).

    The number of columns is rounded up to 8, as AITER does since v0.1.18; older releases refuse others (K not a
    multiple of 256).

    Args:
        src: [E*N, K/32] uint8 or float8_e8m0fnu, N a multiple of 32; None and fp32 are returned as they are.
        experts_cnt: E.
        gate_up: True for the scales of w1, whose rows are [gate; up].
        backend: auto, aiter or emulation.

    Returns:
        A new tensor [E*N, K/32 rounded up to 8] of the same dtype.

    Raises:
        InvalidArgument: another rank, dtype or size.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    if _passes_through(src):
        return src
    checked = _two_dimensional("src", src)
    arguments = {"src": checked, "experts_cnt": experts_cnt, "gate_up": gate_up}
    call = native("shuffle_scale_a16w4", arguments, checked.device, backend)
    if call is not None:
        served: Tensor = call()
        return served
    return a16w4_order(checked, experts_cnt, gate_up, pad_columns=True)


def moe_shuffle_scale(
    src: Tensor | None,
    experts_cnt: int | None = None,
    is_guinterleave: bool = False,
    gate_up: bool = False,
    *,
    backend: str = "auto",
) -> Tensor | None:
    """AITER's `aiter.ops.shuffle.moe_shuffle_scale` (v0.1.17 on): the order that this architecture's MoE reads.

    On gfx1250 tiles of 32 rows by 4 scales, each written row by row; with `is_guinterleave` and `gate_up` the rows
    alternate gate and up first. Everywhere else this is `shuffle_scale`. `ac.get_gfx()` names the architecture.

    Args:
        src: [E*N, C] uint8 or float8_e8m0fnu, C = K/32; on gfx1250 also [E, N, C], N a multiple of 32 and C of 4.
        experts_cnt: E, needed for two dimensions on gfx1250, and with `is_guinterleave`.
        is_guinterleave: gate and up interleaved.
        gate_up: rows are [gate; up] (w1).
        backend: auto, aiter or emulation.

    Returns:
        As `shuffle_scale`; on gfx1250 uint8 [E, N/32, C*32].

    Raises:
        InvalidArgument: another rank, dtype or size.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    if not isinstance(src, Tensor):
        return shuffle_scale(src, experts_cnt, is_guinterleave, gate_up, backend=backend)
    arguments = {"src": src, "experts_cnt": experts_cnt, "is_guinterleave": is_guinterleave, "gate_up": gate_up}
    call = native("moe_shuffle_scale", arguments, src.device, backend, defaults=_DEFAULTS)
    if call is not None:
        served: Tensor = call()
        return served
    if get_gfx() != _ROW_INTERLEAVED:
        return shuffle_scale(src, experts_cnt, is_guinterleave, gate_up, backend="emulation")
    return _tiles_of_rows(src, experts_cnt, interleaved=is_guinterleave and gate_up)


def _tiles_of_rows(src: Tensor, experts_cnt: int | None, *, interleaved: bool) -> Tensor:
    experts, rows, columns = matrix_sizes("src", src, one_byte=True)
    if src.ndim == 2:
        if experts_cnt is None or experts_cnt < 1 or rows % experts_cnt:
            raise InvalidArgument(
                "experts_cnt", experts_cnt, f"a divisor of the {rows} rows of a two-dimensional scale"
            )
        experts, rows = experts_cnt, rows // experts_cnt
    if rows % _TILE_ROWS or columns % _TILE_COLUMNS:
        raise InvalidArgument(
            "src", f"shape {tuple(src.shape)}", f"rows of an expert by {_TILE_ROWS}, columns by {_TILE_COLUMNS}"
        )
    scales = bit_view(src).reshape(experts, rows, columns)
    if interleaved:
        scales = interleave_rows(scales)
    return row_by_row(scales, _TILE_ROWS, _TILE_COLUMNS)


def _passes_through(scale: Any) -> bool:
    return scale is None or (isinstance(scale, Tensor) and scale.dtype == torch.float32)


def _two_dimensional(argument: str, scale: Any) -> Tensor:
    matrix_sizes(argument, scale, one_byte=True)
    found: Tensor = scale
    if found.ndim != 2:
        raise InvalidArgument(
            argument,
            f"{found.ndim} dimensions",
            "2, experts flattened into the rows",
            f"Pass {argument}.view(-1, {argument}.shape[-1]).",
        )
    return found
