"""The MX formats' common part: blocks of 32 along the last dimension with one e8m0 scale each.

The last block must be whole, as in AITER (its torch reference raises, its HIP kernels assert); `pad_last_block`
appends zeros instead, as Quark and microxcaling do, and takes them off again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.codec import Codec, Options, as_bytes, divisible, refuse_static_scale
from aiter_compat.formats.element_rounding import decode
from aiter_compat.formats.elements import Element
from aiter_compat.formats.mx_scale import e8m0_from_amax, e8m0_to_fp32
from aiter_compat.formats.quantized import Quantized
from aiter_compat.formats.scaled_groups import (
    GroupScale,
    Scaling,
    largest_magnitudes,
    qdq_groups,
    quantize_groups,
    row_pieces,
)
from aiter_compat.profiles import NumericsProfile
from aiter_compat.profiles.model import ScaleRule

MX_BLOCK = 32


@dataclass(frozen=True)
class MxScaling:
    """The scale of MX blocks under one rule.

    Attributes:
        element: element format.
        rule: scale rule.
        amax_floor: smallest block maximum that counts.
    """

    element: Element
    rule: ScaleRule
    amax_floor: float

    def __call__(self, blocks: Tensor) -> GroupScale:
        """Scale of each block, [n, 32] of any floating dtype."""
        amax = largest_magnitudes(blocks)
        if self.amax_floor:
            amax.clamp_(min=self.amax_floor)
        byte = e8m0_from_amax(amax, self.element, self.rule)
        value = e8m0_to_fp32(byte)
        return GroupScale(byte, value, value.reciprocal())  # exact, powers of two


@dataclass(frozen=True)
class MxCodec(Codec):
    """An MX format.

    Attributes:
        name: public name.
        element: element format.
        rule: reads this format's scale rule from a profile.
        codes_per_byte: 1 or 2.
    """

    name: str
    element: Element
    rule: Callable[[NumericsProfile], ScaleRule]
    codes_per_byte: int = 1

    def scaling(self, numerics: NumericsProfile) -> Scaling:
        """The scale rule that a profile sets for this format."""
        return MxScaling(self.element, self.rule(numerics), numerics.block_amax_floor)

    def pack(self, codes: Tensor) -> Tensor:
        """Codes, one a byte, as they are stored."""
        return codes

    def decode(self, codes: Tensor) -> Tensor:
        """fp32 values of stored codes, uint8 [n, bytes of a block] to [n, 32]."""
        return decode(codes, self.element)

    def quantize(self, x: Tensor, numerics: NumericsProfile, options: Options) -> Quantized:
        """Codes and scales; see `Codec.quantize`."""
        padded, blocks = self._blocks(x, options)
        codes, scales = quantize_groups(blocks, self.scaling(numerics), self.element)
        return Quantized(
            self.pack(codes.view(padded.shape)),
            scales.to(torch.uint8).view(*padded.shape[:-1], padded.shape[-1] // MX_BLOCK),
            self.name,
            x.shape[-1] if padded.shape != x.shape else None,
        )

    def qdq(self, x: Tensor, numerics: NumericsProfile, options: Options, dtype: torch.dtype) -> Tensor:
        """Rounded values; see `Codec.qdq`."""
        padded, blocks = self._blocks(x, options)
        result = qdq_groups(blocks, self.scaling(numerics), self.element, dtype).view(padded.shape)
        return result if padded.shape == x.shape else result[..., : x.shape[-1]].contiguous()

    def dequantize(self, quantized: Quantized, dtype: torch.dtype) -> Tensor:
        """Values; see `Codec.dequantize`."""
        codes = as_bytes(quantized.codes, "codes")
        scales = as_bytes(quantized.scales, "scales")
        block_bytes = MX_BLOCK // self.codes_per_byte
        if codes.dim() < 1 or codes.shape[-1] % block_bytes:
            raise InvalidArgument(
                "codes", f"shape {tuple(codes.shape)}", f"whole blocks of {block_bytes} bytes for {self.name}"
            )
        blocks = codes.shape[-1] // block_bytes
        count = codes.numel() // block_bytes
        if scales.dim() < 1 or scales.shape[-1] != blocks or scales.numel() != count:
            raise InvalidArgument(
                "scales",
                f"shape {tuple(scales.shape)}",
                f"{(*codes.shape[:-1], blocks)}, or its leading dimensions flattened",
            )
        flat_codes, flat_scales = codes.reshape(count, block_bytes), scales.reshape(count, 1)
        values = torch.empty(count, MX_BLOCK, dtype=dtype, device=codes.device)
        for rows in row_pieces(count, MX_BLOCK, codes.device):
            scale = e8m0_to_fp32(flat_scales[rows].to(torch.int32))
            values[rows].copy_(self.decode(flat_codes[rows]).mul_(scale))
        values = values.view(*codes.shape[:-1], blocks * MX_BLOCK)
        return values if quantized.columns is None else values[..., : quantized.columns].contiguous()

    def _blocks(self, x: Tensor, options: Options) -> tuple[Tensor, Tensor]:
        """x, padded if asked, and the same as [n, 32]."""
        refuse_static_scale(options, self.name)
        missing = -x.shape[-1] % MX_BLOCK
        if missing and options.pad_last_block:
            x = functional.pad(x, (0, missing))
        elif missing:
            raise InvalidArgument(
                "x",
                f"shape {tuple(x.shape)}, whose last block has {MX_BLOCK - missing} elements",
                f"a last dimension divisible by {MX_BLOCK} for {self.name}",
                "Pad the tensor, or pass pad_last_block=True to quantise with zeros appended.",
            )
        divisible(x, -1, MX_BLOCK, self.name)
        return x, x.reshape(x.numel() // MX_BLOCK, MX_BLOCK)
