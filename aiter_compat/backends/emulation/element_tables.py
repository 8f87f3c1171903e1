"""What each byte of stored codes stands for: a table of 256 entries for every weight format."""

from __future__ import annotations

from functools import cache

import torch

from aiter_compat.formats.elements import E2M1, E2M3, E3M2, E4M3, E5M2, Element
from aiter_compat.formats.mx_scale import e8m0_to_fp32

_BYTES = range(256)
_ELEMENTS: dict[str, Element] = {
    "mxfp4": E2M1,
    "mxfp6_e2m3": E2M3,
    "mxfp6_e3m2": E3M2,
    "mxfp8": E4M3,
    "mxfp8_e5m2": E5M2,
    "fp8": E4M3,
}
# Formats whose codes are 4 bits wide, two a byte with the even column in the low nibble.
_PACKED = ("mxfp4", "int4")


def values_per_byte(weight_format: str) -> int:
    """How many codes share a byte."""
    return 2 if weight_format in _PACKED else 1


def element_table(weight_format: str, per_byte: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Values of every byte.

    Args:
        weight_format: "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2", "fp8" or "int4".
        per_byte: `values_per_byte`, or 1 for int4 that is stored one a byte.
        device: of the table.

    Returns:
        [256, per_byte] fp32.
    """
    return torch.tensor(_entries(weight_format, per_byte), dtype=torch.float32, device=device)


def decode_elements(codes: torch.Tensor, weight_format: str, per_byte: int) -> torch.Tensor:
    """Values of codes, without their scales.

    Args:
        codes: [..., K'] uint8.
        weight_format: as in `element_table`.
        per_byte: as in `element_table`.

    Returns:
        [..., K' * per_byte] fp32.
    """
    return element_table(weight_format, per_byte, codes.device)[codes.long()].flatten(-2)


def decode_e8m0(scales: torch.Tensor) -> torch.Tensor:
    """fp32 values of e8m0 scales (uint8 or float8_e8m0fnu), 2^(byte - 127), NaN for byte 255."""
    # Looked up, not computed: a pass over 256 bytes in place of several over every scale.
    table = e8m0_to_fp32(torch.arange(len(_BYTES), dtype=torch.int32, device=scales.device))
    return table.index_select(0, scales.view(torch.uint8).reshape(-1).int()).view(scales.shape)


@cache
def _entries(weight_format: str, per_byte: int) -> tuple[tuple[float, ...], ...]:
    if weight_format == "int4":
        bits = 8 // per_byte
        return tuple(tuple(_signed(byte >> (bits * place), bits) for place in range(per_byte)) for byte in _BYTES)
    element = _ELEMENTS[weight_format]
    return tuple(tuple(element.value(byte >> (4 * place)) for place in range(per_byte)) for byte in _BYTES)


def _signed(byte: int, bits: int) -> float:
    """Two's complement of the low bits."""
    low = byte & ((1 << bits) - 1)
    return float(low - (1 << bits) if low >> (bits - 1) else low)
