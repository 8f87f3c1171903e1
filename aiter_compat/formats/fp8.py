"""The fp8 formats with fp32 scales: e4m3fn elements scaled per tensor, per row, per group or per tile, or not at all.

Sources: AITER v0.1.15.post3 `aiter/ops/quant.py` per_tensor_quant, pertoken_quant, per_block_quant_wrapper,
per_1x32_f8_scale_f8_quant with an fp32 scale; `op_tests/test_moe_2stage.py` weight_per_128x128_quant;
v0.1.13.post1 `aiter/fused_moe.py` (the cast of fp8_cast). AITER casts without clamping, relying on torch to saturate;
here every value saturates.

A row that holds Inf or NaN gets a scale that is not finite, and dequantises to NaN.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.codec import Codec, Options, as_bytes, divisible, refuse_static_scale
from aiter_compat.formats.element_rounding import decode
from aiter_compat.formats.elements import E4M3, F8_E4M3_MAX
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

FP8_GROUP = 128
FP8_SMALL_GROUP = 32
FP8_TILE = 128
FP8_SMALL_GROUP_DIVISOR = 256.0
"""per_1x32_f8_scale_f8_quant divides by the largest power of two in e4m3, not by its largest value."""


@dataclass(frozen=True)
class AmaxScaling:
    """Scale = amax / divisor, by division or by multiplying with reciprocals rounded to fp32.

    Attributes:
        divisor: 448 almost everywhere.
        reciprocal: multiply, as the HIP kernels do; see `NumericsProfile.fp8_arithmetic`.
        amax_floor: smallest maximum that counts.
        replace_zero: a scale of 0 becomes 1, so that zeros stay zeros. Without it 0 / 0 makes them NaN.
    """

    divisor: float
    reciprocal: bool
    amax_floor: float = 0.0
    replace_zero: bool = True

    def __call__(self, groups: Tensor) -> GroupScale:
        """Scale of each group, [n, size] of any floating dtype."""
        return self.of(largest_magnitudes(groups))

    def of(self, amax: Tensor) -> GroupScale:
        """Scale of each group from its largest magnitude, fp32 [n, 1]."""
        if self.amax_floor:
            amax = amax.clamp(min=self.amax_floor)
        # torch rounds a Python factor to fp32 before multiplying, as a kernel's constant is.
        scale = amax * (1.0 / self.divisor) if self.reciprocal else amax / self.divisor
        if self.replace_zero:
            scale = torch.where(scale == 0, 1.0, scale)
        return GroupScale(scale, scale, scale.reciprocal() if self.reciprocal else None)


@dataclass(frozen=True)
class FixedScaling:
    """One scale, known beforehand.

    Attributes:
        scale: fp32, one element.
        reciprocal: multiply by its reciprocal instead of dividing.
    """

    scale: Tensor
    reciprocal: bool

    def __call__(self, groups: Tensor) -> GroupScale:
        """The scale, whatever the groups hold."""
        scale = self.scale.view(1, 1).expand(groups.shape[0], 1)
        return GroupScale(scale, scale, scale.reciprocal() if self.reciprocal else None)


@dataclass(frozen=True)
class ScaleRequest:
    """What a format may look at to choose its scales.

    Attributes:
        x: the tensor.
        reciprocal: see `NumericsProfile.fp8_arithmetic`.
        amax_floor: see `NumericsProfile.block_amax_floor`.
        static: the caller's scale, for the format that takes one.
    """

    x: Tensor
    reciprocal: bool
    amax_floor: float
    static: Tensor | None


@dataclass(frozen=True)
class Fp8Codec(Codec):
    """An fp8 format: subclasses say which elements share a scale.

    Attributes:
        name: public name.
        takes_static_scale: whether the caller may give the scale.
    """

    name: str
    takes_static_scale: bool = field(default=False, kw_only=True)

    @abstractmethod
    def check(self, x: Tensor) -> None:
        """Refuse a shape that does not divide into groups."""

    @abstractmethod
    def split(self, x: Tensor) -> Tensor:
        """The tensor as [groups, elements of a group]."""

    @abstractmethod
    def join(self, groups: Tensor, shape: torch.Size) -> Tensor:
        """The inverse of `split`."""

    @abstractmethod
    def scaling(self, request: ScaleRequest) -> Scaling:
        """The scale rule for this tensor."""

    @abstractmethod
    def scale_shape(self, shape: torch.Size) -> tuple[int, ...]:
        """Shape of the stored scales."""

    def quantize(self, x: Tensor, numerics: NumericsProfile, options: Options) -> Quantized:
        """Codes and scales; see `Codec.quantize`."""
        scaling = self._checked_scaling(x, numerics, options)
        codes, scales = quantize_groups(self.split(x), scaling, E4M3)
        return Quantized(
            self.join(codes, x.shape), self._stored(scales, scaling).view(self.scale_shape(x.shape)), self.name
        )

    def qdq(self, x: Tensor, numerics: NumericsProfile, options: Options, dtype: torch.dtype) -> Tensor:
        """Rounded values; see `Codec.qdq`."""
        scaling = self._checked_scaling(x, numerics, options)
        return self.join(qdq_groups(self.split(x), scaling, E4M3, dtype), x.shape)

    def dequantize(self, quantized: Quantized, dtype: torch.dtype) -> Tensor:
        """Values; see `Codec.dequantize`."""
        codes = as_bytes(quantized.codes, "codes")
        self.check(codes)
        scales = quantized.scales
        expected = self.scale_shape(codes.shape)
        if not scales.is_floating_point() or scales.element_size() == 1:
            raise InvalidArgument("scales", scales.dtype, "torch.float32")
        if scales.numel() != torch.Size(expected).numel():
            raise InvalidArgument("scales", f"shape {tuple(scales.shape)}", f"{expected} for {self.name}")
        groups = self.split(codes)
        flat_scales = scales.float().reshape(-1, 1).expand(groups.shape[0], 1)
        values = torch.empty(groups.shape, dtype=dtype, device=codes.device)
        for rows in row_pieces(groups.shape[0], groups.shape[1], codes.device):
            values[rows].copy_(decode(groups[rows], E4M3).mul_(flat_scales[rows]))
        return self.join(values, codes.shape)

    def _checked_scaling(self, x: Tensor, numerics: NumericsProfile, options: Options) -> Scaling:
        if options.pad_last_block:
            raise InvalidArgument("pad_last_block", True, f"False for {self.name}", "Only MX formats pad.")
        if not self.takes_static_scale:
            refuse_static_scale(options, self.name)
        self.check(x)
        reciprocal = numerics.fp8_arithmetic == "reciprocal"
        return self.scaling(ScaleRequest(x, reciprocal, numerics.block_amax_floor, options.scale))

    def _stored(self, scales: Tensor, scaling: Scaling) -> Tensor:
        return scaling.scale if isinstance(scaling, FixedScaling) else scales


@dataclass(frozen=True)
class RowCodec(Fp8Codec):
    """fp8_token: one scale for each vector along the last dimension."""

    def check(self, x: Tensor) -> None:
        """Any shape of rank 1 or more will do."""

    def split(self, x: Tensor) -> Tensor:
        """[..., K] to [rows, K]."""
        return x.reshape(_rows(x.shape), x.shape[-1])

    def join(self, groups: Tensor, shape: torch.Size) -> Tensor:
        """[rows, K] to [..., K]."""
        return groups.view(shape)

    def scaling(self, request: ScaleRequest) -> Scaling:
        """The row's maximum / 448; a zero row keeps its zeros under scale 1."""
        return AmaxScaling(F8_E4M3_MAX, request.reciprocal)

    def scale_shape(self, shape: torch.Size) -> tuple[int, ...]:
        """[..., 1]."""
        return (*shape[:-1], 1)


@dataclass(frozen=True)
class TensorCodec(RowCodec):
    """fp8_tensor: one scale for everything, given or computed.

    Computed from an all-zero tensor it is 0, and the result NaN, as in AITER's per_tensor_quant.
    """

    def scaling(self, request: ScaleRequest) -> Scaling:
        """The static scale if given, else the tensor's maximum / 448."""
        x = request.x
        if request.static is not None:
            return FixedScaling(request.static.to(x.device), request.reciprocal)
        rows = largest_magnitudes(self.split(x))
        amax = rows.amax(0, keepdim=True) if len(rows) else rows.new_zeros(1, 1)
        whole = AmaxScaling(F8_E4M3_MAX, request.reciprocal, replace_zero=False)
        return FixedScaling(whole.of(amax).value, request.reciprocal)

    def scale_shape(self, shape: torch.Size) -> tuple[int, ...]:  # noqa: ARG002 - one scale whatever the shape
        """[1]."""
        return (1,)


@dataclass(frozen=True)
class CastCodec(TensorCodec):
    """fp8_cast: no scaling at all, what AITER did to a8w4 activations before v0.1.15."""

    def scaling(self, request: ScaleRequest) -> Scaling:
        """One."""
        return FixedScaling(torch.ones(1, device=request.x.device), reciprocal=True)


@dataclass(frozen=True)
class GroupCodec(Fp8Codec):
    """fp8_1x128 and fp8_1x32: one scale for each group along the last dimension.

    Attributes:
        size: elements of a group.
        divisor: the group's maximum divided by it is the scale.
        replace_zero: see `AmaxScaling`.
    """

    size: int
    divisor: float
    replace_zero: bool

    def check(self, x: Tensor) -> None:
        """The last dimension must hold whole groups."""
        divisible(x, -1, self.size, self.name)

    def split(self, x: Tensor) -> Tensor:
        """[..., K] to [groups, size]."""
        return x.reshape(x.numel() // self.size, self.size)

    def join(self, groups: Tensor, shape: torch.Size) -> Tensor:
        """[groups, size] to [..., K]."""
        return groups.view(shape)

    def scaling(self, request: ScaleRequest) -> Scaling:
        """The group's maximum / divisor."""
        return AmaxScaling(self.divisor, request.reciprocal, request.amax_floor, self.replace_zero)

    def scale_shape(self, shape: torch.Size) -> tuple[int, ...]:
        """[..., K / size]."""
        return (*shape[:-1], shape[-1] // self.size)


@dataclass(frozen=True)
class TileCodec(Fp8Codec):
    """fp8_128x128: one scale for each square tile of the last two dimensions; for weights."""

    def check(self, x: Tensor) -> None:
        """Both dimensions must hold whole tiles."""
        divisible(x, -2, FP8_TILE, self.name)
        divisible(x, -1, FP8_TILE, self.name)

    def split(self, x: Tensor) -> Tensor:
        """[..., N, K] to [tiles, 128 * 128]."""
        rows, columns = x.shape[-2] // FP8_TILE, x.shape[-1] // FP8_TILE
        tiles = x.reshape(*x.shape[:-2], rows, FP8_TILE, columns, FP8_TILE).transpose(-3, -2)
        return tiles.reshape(x.numel() // FP8_TILE**2, FP8_TILE**2)

    def join(self, groups: Tensor, shape: torch.Size) -> Tensor:
        """[tiles, 128 * 128] to [..., N, K]."""
        tiles = groups.view(*shape[:-2], shape[-2] // FP8_TILE, shape[-1] // FP8_TILE, FP8_TILE, FP8_TILE)
        return tiles.transpose(-3, -2).reshape(shape)

    def scaling(self, request: ScaleRequest) -> Scaling:
        """The tile's maximum / 448."""
        return AmaxScaling(F8_E4M3_MAX, request.reciprocal)

    def scale_shape(self, shape: torch.Size) -> tuple[int, ...]:
        """[..., N/128, K/128]."""
        return (*shape[:-2], shape[-2] // FP8_TILE, shape[-1] // FP8_TILE)


def _rows(shape: torch.Size) -> int:
    return torch.Size(shape[:-1]).numel()


FP8_TENSOR = TensorCodec("fp8_tensor", takes_static_scale=True)
FP8_TOKEN = RowCodec("fp8_token")
FP8_1X128 = GroupCodec("fp8_1x128", FP8_GROUP, F8_E4M3_MAX, replace_zero=True)
FP8_1X32 = GroupCodec("fp8_1x32", FP8_SMALL_GROUP, FP8_SMALL_GROUP_DIVISOR, replace_zero=False)
FP8_128X128 = TileCodec("fp8_128x128")
FP8_CAST = CastCodec("fp8_cast")
