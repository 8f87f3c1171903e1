"""AITER's weight shuffles: bytes as in `aiter_compat.layouts`, under its names and with its mark `is_shuffled`.

The mark is a Python attribute, which torch drops on `view`, `clone`, `.data` and `nn.Parameter`; `ac.prepare_weights`
keeps the layout with the weights instead. Pure moves of bytes, the same on every device and in every release that has
the function (v0.1.6.post2 to v0.1.20.post1 aiter/ops/shuffle.py), so a release without it is emulated silently.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional

from aiter_compat.companions.architecture_name import get_gfx
from aiter_compat.companions.serving import native
from aiter_compat.companions.tensor_checks import device_of, need_choice
from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import interleave_rows, shuffle_16x16, shuffle_a16w4
from aiter_compat.layouts.tile_permutation import bit_view, permute_tiles

_WAVE = 64
_CHUNK_BYTES = 16
_INT4_CHUNK = 32
_USUAL = (16, 16)
_WEIGHT_DEFAULTS: dict[str, Any] = {
    "layout": _USUAL,
    "use_int4": False,
    "is_guinterleave": False,
    "gate_up": False,
    "pad_k_to": 0,
}
_MOE_DEFAULTS: dict[str, Any] = {"experts_cnt": None, "is_guinterleave": False, "gate_up": False, "layout": _USUAL}
_ROW_INTERLEAVED = "gfx1250"
"""The architecture whose MoE kernels interleave gate and up by single rows (v0.1.18 on, moe_shuffle_weight)."""


def shuffle_weight(
    x: Tensor,
    layout: tuple[int, int] = _USUAL,
    use_int4: bool = False,
    is_guinterleave: bool = False,
    gate_up: bool = False,
    pad_k_to: int = 0,
    *,
    backend: str = "auto",
) -> Tensor:
    """AITER's `aiter.ops.shuffle.shuffle_weight`.

    `is_guinterleave` and `gate_up` exist from v0.1.14 on, `pad_k_to` from v0.1.17 on.

    Args:
        x: [..., N, K], K as stored (packed fp4: bytes); one to two leading dimensions at most in all but AITER.
        layout: rows and half the columns of a tile: N must divide by the first, K by twice the second.
        use_int4: a chunk is 32 elements instead of 16 bytes.
        is_guinterleave: the a16w4 layout instead, see `aiter_compat.layouts.shuffle_a16w4`; `layout` must be (16, 16).
        gate_up: with it: rows are [gate; up].
        pad_k_to: zeros are appended until K divides by it; then the result carries AITER's attributes
            `aiter_original_k` and `aiter_padded_k`, too. 0: none. Not with the two flags above.
        backend: auto, aiter or emulation.

    Returns:
        A new tensor of the same dtype and shape (K padded), with `is_shuffled = True`.

    Raises:
        InvalidArgument: a size that the layout is not defined for, or flags that exclude each other.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    layout = _pair(layout)
    if pad_k_to and (use_int4 or is_guinterleave or pad_k_to < 0):
        flag = "use_int4" if use_int4 else "is_guinterleave"
        allowed = "0 or more" if pad_k_to < 0 else f"0 with {flag}=True"
        raise InvalidArgument("pad_k_to", pad_k_to, allowed)
    arguments = {
        "x": x,
        "layout": layout,
        "use_int4": use_int4,
        "is_guinterleave": is_guinterleave,
        "gate_up": gate_up,
        "pad_k_to": pad_k_to,
    }
    call = native("shuffle_weight", arguments, device_of("x", x), backend, defaults=_WEIGHT_DEFAULTS)
    if call is not None:
        served: Tensor = call()
        return served
    if is_guinterleave:
        need_choice("layout", layout, (_USUAL,))
        return _marked(shuffle_a16w4(x, gate_up))
    padded = _padded(x, pad_k_to)
    if layout == _USUAL:
        shuffled = shuffle_16x16(padded, use_int4=use_int4)
    else:
        shuffled = _tiled(padded, layout, _INT4_CHUNK if use_int4 else _CHUNK_BYTES // padded.element_size())
    if pad_k_to:
        shuffled.aiter_original_k = x.shape[-1]  # type: ignore[attr-defined]  # AITER's own mark
        shuffled.aiter_padded_k = padded.shape[-1]  # type: ignore[attr-defined]
    return _marked(shuffled)


def shuffle_weight_a16w4(
    src: Tensor,
    NLane: int,  # noqa: N803 - AITER's name
    gate_up: bool,
    *,
    backend: str = "auto",
) -> Tensor:
    """AITER's `aiter.ops.shuffle.shuffle_weight_a16w4` (v0.1.6.post2 on): `aiter_compat.layouts.shuffle_a16w4`, marked.

    Args:
        src: [E, N, K] as stored; N a multiple of 16 (32 with `gate_up`), K of 64.
        NLane: 16.
        gate_up: True for w1, False for w2.
        backend: auto, aiter or emulation.

    Returns:
        A new tensor of the same shape and dtype, with `is_shuffled = True`.

    Raises:
        InvalidArgument: a size that the layout is not defined for, or another `NLane`.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    need_choice("NLane", NLane, (16,), "Hosts and kernels use no other.")
    arguments = {"src": src, "NLane": NLane, "gate_up": gate_up}
    call = native("shuffle_weight_a16w4", arguments, device_of("src", src), backend)
    if call is not None:
        served: Tensor = call()
        return served
    return _marked(shuffle_a16w4(src, gate_up))


def shuffle_weight_NK(  # noqa: N802 - AITER's name
    x: Tensor,
    inst_N: int,  # noqa: N803 - AITER's name
    inst_K: int,  # noqa: N803 - AITER's name
    use_int4: bool = False,
    *,
    backend: str = "auto",
) -> Tensor:
    """AITER's `aiter.ops.shuffle.shuffle_weight_NK` (v0.1.6.post2 on): tiles of the size of one matrix instruction.

    A wave of 64 lanes holds a tile of `inst_N` rows: each lane reads `inst_K / (64 / inst_N)` elements of one row at
    once, twice as many with `use_int4`. AITER does not mark the result, nor does this.

    Args:
        x: [..., N, K]; N a multiple of `inst_N`, K of `inst_K`.
        inst_N: rows of the instruction, a divisor of 64.
        inst_K: columns of the instruction.
        use_int4: see above; then the number of leading matrices must be even, as the tile spans two of them.
        backend: auto, aiter or emulation.

    Returns:
        A new tensor of the same shape and dtype.

    Raises:
        InvalidArgument: a size that does not divide.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    arguments = {"x": x, "inst_N": inst_N, "inst_K": inst_K, "use_int4": use_int4}
    call = native("shuffle_weight_NK", arguments, device_of("x", x), backend, defaults={"use_int4": False})
    if call is not None:
        served: Tensor = call()
        return served
    if not isinstance(inst_N, int) or inst_N < 1 or _WAVE % inst_N:
        raise InvalidArgument("inst_N", inst_N, f"a divisor of {_WAVE}")
    groups = _WAVE // inst_N
    if not isinstance(inst_K, int) or inst_K < 1 or inst_K % groups:
        raise InvalidArgument("inst_K", inst_K, f"a multiple of {groups}, 64 / inst_N")
    _divides(x, inst_N, inst_K)
    chunk = inst_K // groups * (2 if use_int4 else 1)
    inner = (x.shape[-2] // inst_N, inst_N, x.shape[-1] // inst_K, groups, chunk)
    tile = inner[0] * inner[1] * inner[2] * inner[3] * inner[4]
    if x.numel() % max(tile, 1):
        raise InvalidArgument("x", f"shape {tuple(x.shape)}", "an even number of matrices with use_int4=True")
    return permute_tiles(x, (x.numel() // max(tile, 1), *inner), (0, 1, 3, 4, 2, 5))


def moe_shuffle_weight(
    src: Tensor,
    experts_cnt: int | None = None,
    is_guinterleave: bool = False,
    gate_up: bool = False,
    layout: tuple[int, int] = _USUAL,
    *,
    backend: str = "auto",
) -> Tensor:
    """AITER's `aiter.ops.shuffle.moe_shuffle_weight` (v0.1.18 on): the shuffle that this architecture's MoE reads.

    On gfx1250 `is_guinterleave` with `gate_up` alternates single gate and up rows before the 16x16 tiles; everywhere
    else this is `shuffle_weight`. `ac.get_gfx()` names the architecture.

    Args:
        src: [E, N, K] as stored.
        experts_cnt: without effect, as in AITER.
        is_guinterleave: gate and up interleaved.
        gate_up: rows are [gate; up] (w1).
        layout: see `shuffle_weight`.
        backend: auto, aiter or emulation.

    Returns:
        A new tensor of the same shape and dtype, with `is_shuffled = True`.

    Raises:
        InvalidArgument: a size that the layout is not defined for.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    arguments = {
        "src": src,
        "experts_cnt": experts_cnt,
        "is_guinterleave": is_guinterleave,
        "gate_up": gate_up,
        "layout": _pair(layout),
    }
    call = native("moe_shuffle_weight", arguments, device_of("src", src), backend, defaults=_MOE_DEFAULTS)
    if call is not None:
        served: Tensor = call()
        return served
    if get_gfx() != _ROW_INTERLEAVED:
        return shuffle_weight(src, layout, is_guinterleave=is_guinterleave, gate_up=gate_up, backend="emulation")
    rows = interleave_rows(src) if is_guinterleave and gate_up else src
    return shuffle_weight(rows, layout, backend="emulation")


def _tiled(x: Tensor, layout: tuple[int, int], chunk: int) -> Tensor:
    rows, columns = layout[0], 2 * layout[1]
    _divides(x, rows, columns)
    if columns % chunk:
        raise InvalidArgument("layout", layout, f"twice the second a multiple of {chunk}, the elements of a chunk")
    n, k = x.shape[-2:]
    leading = x.numel() // max(n * k, 1)
    tiles = (leading, n // rows, rows, k // columns, columns // chunk, chunk)
    return permute_tiles(x, tiles, (0, 1, 3, 4, 2, 5))


def _divides(x: Tensor, rows: int, columns: int) -> None:
    if not isinstance(x, Tensor) or x.dim() < 2:
        given = f"rank {x.dim()}" if isinstance(x, Tensor) else type(x).__name__
        raise InvalidArgument("x", given, "a torch.Tensor [..., N, K]")
    if x.shape[-2] % rows or x.shape[-1] % columns:
        raise InvalidArgument(
            "x",
            f"shape {tuple(x.shape)}",
            f"N a multiple of {rows} and K, as stored, of {columns}",
            "Pad it with zeros.",
        )


def _padded(x: Tensor, multiple: int) -> Tensor:
    missing = -x.shape[-1] % multiple if multiple else 0
    return functional.pad(bit_view(x), (0, missing)).view(x.dtype) if missing else x


def _pair(layout: Any) -> tuple[int, int]:
    try:
        rows, columns = layout
    except (TypeError, ValueError):
        raise InvalidArgument("layout", layout, "two whole numbers, such as (16, 16)") from None
    if not all(isinstance(size, int) and size > 0 for size in (rows, columns)):
        raise InvalidArgument("layout", layout, "two whole numbers, such as (16, 16)")
    return rows, columns


def _marked(shuffled: Tensor) -> Tensor:
    shuffled.is_shuffled = True  # type: ignore[attr-defined]  # AITER's own mark, which fused_moe reads
    return shuffled
