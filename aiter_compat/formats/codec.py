"""What every format offers, and the checks that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.quantized import Quantized
from aiter_compat.profiles import NumericsProfile

INPUT_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
OUTPUT_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


@dataclass(frozen=True)
class Options:
    """What a caller may ask of a format besides its numerics.

    Attributes:
        scale: static scale, one number (fp8_tensor only).
        pad_last_block: zero-pad a last block that is too short, instead of refusing it.
    """

    scale: Tensor | None = None
    pad_last_block: bool = False


class Codec(ABC):
    """One format.

    Attributes:
        name: public name of the format.
    """

    name: str

    @abstractmethod
    def quantize(self, x: Tensor, numerics: NumericsProfile, options: Options) -> Quantized:
        """Codes and scales of x, which is fp32, bf16 or fp16 of rank 1 or more."""

    @abstractmethod
    def dequantize(self, quantized: Quantized, dtype: torch.dtype) -> Tensor:
        """The values, computed in fp32 and rounded once to `dtype`."""

    @abstractmethod
    def qdq(self, x: Tensor, numerics: NumericsProfile, options: Options, dtype: torch.dtype) -> Tensor:
        """What `dequantize(quantize(x))` returns, without making the codes."""


def as_bytes(tensor: Tensor, argument: str) -> Tensor:
    """A one-byte storage dtype seen as uint8.

    Raises:
        InvalidArgument: the dtype is wider than a byte.
    """
    if tensor.element_size() != 1:
        raise InvalidArgument(argument, tensor.dtype, "uint8, or a torch dtype stored in one byte")
    return tensor if tensor.dtype == torch.uint8 else tensor.view(torch.uint8)


def refuse_static_scale(options: Options, name: str) -> None:
    """Refuse a static scale for a format that computes its own.

    Raises:
        InvalidArgument: a scale was given.
    """
    if options.scale is not None:
        raise InvalidArgument("scale", f"a scale for {name}", "None", "Only fp8_tensor takes a static scale.")


def divisible(x: Tensor, dim: int, block: int, name: str) -> None:
    """Check that a dimension holds whole blocks.

    Raises:
        InvalidArgument: it does not, or the tensor lacks the dimension.
    """
    if x.dim() < -dim:
        raise InvalidArgument("x", f"rank {x.dim()}", f"rank {-dim} or more for {name}")
    if x.shape[dim] % block:
        raise InvalidArgument(
            "x",
            f"shape {tuple(x.shape)}, whose dimension {dim} is no multiple of {block}",
            f"whole blocks of {block} for {name}",
            "Pad the tensor.",
        )
