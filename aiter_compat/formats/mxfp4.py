"""mxfp4: e2m1 elements, two a byte, the even column in the low nibble.

Sources: OCP MX v1.0; AITER v0.1.15.post3 `aiter/ops/quant.py` per_1x32_f4_quant and `aiter/utility/fp4_utils.py`
f32_to_mxfp4, mxfp4_to_f32.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from aiter_compat.formats.element_rounding import BYTE_VALUES
from aiter_compat.formats.elements import E2M1
from aiter_compat.formats.mx_block import MxCodec

NIBBLE_BITS = 4
NIBBLE_MASK = 0xF


@dataclass(frozen=True)
class Mxfp4Codec(MxCodec):
    """mxfp4: the MX codec with two codes a byte."""

    def pack(self, codes: Tensor) -> Tensor:
        """[..., K] one code a byte to [..., K/2]."""
        return pack_nibbles(codes)

    def decode(self, codes: Tensor) -> Tensor:
        """uint8 [n, 16] to fp32 [n, 32]."""
        pairs = [(E2M1.value(byte & NIBBLE_MASK), E2M1.value(byte >> NIBBLE_BITS)) for byte in range(BYTE_VALUES)]
        # Both values of a byte as one 8-byte table entry: one look-up a byte instead of one a value.
        table = torch.tensor(pairs, dtype=torch.float32, device=codes.device).view(torch.int64).view(-1)
        values = table.index_select(0, codes.reshape(-1).int()).view(torch.float32)
        return values.view(codes.shape[0], 2 * codes.shape[1])


def pack_nibbles(codes: Tensor) -> Tensor:
    """Two 4-bit codes a byte, uint8 [..., K] to [..., K/2]: the even column in the low nibble."""
    return codes[..., 0::2] | (codes[..., 1::2] << NIBBLE_BITS)


def unpack_nibbles(packed: Tensor) -> Tensor:
    """The inverse of `pack_nibbles`."""
    return torch.stack((packed & NIBBLE_MASK, packed >> NIBBLE_BITS), dim=-1).flatten(-2)


MXFP4 = Mxfp4Codec("mxfp4", E2M1, lambda numerics: numerics.mxfp4_scale_rule, codes_per_byte=2)
