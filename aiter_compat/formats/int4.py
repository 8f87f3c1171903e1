"""int4_1x32: symmetric integers from -7 to 7 with a bf16 scale per 32 along the last dimension; for weights.

AITER computes it in the weight's own dtype and rounds the scale to bf16 only after dividing by it
(v0.1.15.post3 `aiter/ops/quant.py` per_1x32_i4_quant), so bf16 and fp32 inputs of equal values may differ by one step.
That is followed here. Two things are stored otherwise: AITER keeps one code a byte until it packs them in the
interleaved order of its kernel, and its scales transposed, [..., K/32, N].
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.codec import Codec, Options, as_bytes, divisible, refuse_static_scale
from aiter_compat.formats.mxfp4 import NIBBLE_BITS, NIBBLE_MASK, pack_nibbles, unpack_nibbles
from aiter_compat.formats.quantized import Quantized
from aiter_compat.profiles import NumericsProfile

INT4_GROUP = 32
INT4_MAX = 7
INT4_SIGN_BIT = 1 << (NIBBLE_BITS - 1)
INT4_SMALLEST_AMAX = 1e-6
"""Groups below it are scaled as if they reached it."""


@dataclass(frozen=True)
class Int4Codec(Codec):
    """int4_1x32.

    Attributes:
        name: public name.
    """

    name: str

    def quantize(
        self,
        x: Tensor,
        numerics: NumericsProfile,  # noqa: ARG002 - every release computes the same
        options: Options,
    ) -> Quantized:
        """Codes and scales; see `Codec.quantize`."""
        refuse_static_scale(options, self.name)
        if options.pad_last_block:
            raise InvalidArgument("pad_last_block", True, f"False for {self.name}", "Only MX formats pad.")
        divisible(x, -1, INT4_GROUP, self.name)
        groups = x.reshape(x.numel() // INT4_GROUP, INT4_GROUP)
        scale = groups.abs().amax(-1, keepdim=True).clamp_(min=INT4_SMALLEST_AMAX) / INT4_MAX
        integers = (groups / scale).round_().clamp_(-INT4_MAX, INT4_MAX)
        # NaN has no integer: its group's scale is NaN already.
        codes = integers.nan_to_num_(nan=0.0).to(torch.int8).view(torch.uint8) & NIBBLE_MASK
        return Quantized(
            pack_nibbles(codes.view(x.shape)),
            scale.to(torch.bfloat16).view(*x.shape[:-1], x.shape[-1] // INT4_GROUP),
            self.name,
        )

    def dequantize(self, quantized: Quantized, dtype: torch.dtype) -> Tensor:
        """Values; see `Codec.dequantize`."""
        codes = as_bytes(quantized.codes, "codes")
        packed_group = INT4_GROUP // 2
        divisible(codes, -1, packed_group, self.name)
        scales = quantized.scales
        expected = (*codes.shape[:-1], codes.shape[-1] // packed_group)
        if not scales.is_floating_point() or tuple(scales.shape) != expected:
            raise InvalidArgument(
                "scales",
                f"{scales.dtype} {tuple(scales.shape)}",
                f"a floating dtype, {expected}",
                "AITER's own scales are transposed, [..., K/32, N]: swap the last two dimensions.",
            )
        nibbles = unpack_nibbles(codes).to(torch.int8)
        integers = (nibbles ^ INT4_SIGN_BIT) - INT4_SIGN_BIT
        groups = integers.float().view(*expected, INT4_GROUP)
        return (groups * scales.float().unsqueeze(-1)).view(integers.shape).to(dtype)

    def qdq(self, x: Tensor, numerics: NumericsProfile, options: Options, dtype: torch.dtype) -> Tensor:
        """Rounded values; see `Codec.qdq`."""
        return self.dequantize(self.quantize(x, numerics, options), dtype)


INT4_1X32 = Int4Codec("int4_1x32")
