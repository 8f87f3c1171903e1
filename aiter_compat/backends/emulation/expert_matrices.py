"""One weight matrix of every expert as the host stores it, and the logical codes and scales of a single expert.

Everything here works on one expert at a time, so that the memory it takes does not grow with their number: a
shuffled layout is undone for the expert that is asked for, a scale converted to fp32 for that expert only.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from aiter_compat.backends.emulation.element_tables import decode_e8m0, values_per_byte
from aiter_compat.backends.emulation.request import QuantTypeName, WeightFormat, WeightLayout
from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation
from aiter_compat.layouts import (
    layout_requirements,
    unshuffle_16x16,
    unshuffle_a16w4,
    unshuffle_scale_a16w4,
    unshuffle_scale_e8m0,
)

MX_FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2")
MX_BLOCK = 32
_FP8_TILE = 128
_E8M0_DTYPES = (torch.uint8, torch.float8_e8m0fnu)
_VALUE_DTYPES = (torch.bfloat16, torch.float16, torch.float32)

# Dtypes that may hold the codes of a format. All one byte wide: they are read as bytes from here on.
_CODE_DTYPES: dict[str, tuple[torch.dtype, ...]] = {
    "mxfp4": (torch.uint8, torch.float4_e2m1fn_x2),
    "mxfp6_e2m3": (torch.uint8,),
    "mxfp6_e3m2": (torch.uint8,),
    "mxfp8": (torch.uint8, torch.float8_e4m3fn),
    "mxfp8_e5m2": (torch.uint8, torch.float8_e5m2),
    "fp8": (torch.uint8, torch.float8_e4m3fn),
    "int4": (torch.uint8, torch.int8),
}


@dataclass(frozen=True, eq=False)
class ExpertMatrices:
    """w1 or w2 of all experts, as stored.

    Attributes:
        argument: "w1" or "w2" (or the shared ones), for messages.
        stored: [E, N, K'] floating point values, uint8 codes, or int8 integers (int4 not packed).
        scale: as stored, or None.
        weight_format: how a code reads.
        quant_type: how the scales are laid over the matrix.
        layout: memory layout of `stored` and of e8m0 scales.
        gate_up: True for the first matrix of a gated activation, whose rows are two halves.
        columns: K, in values.
    """

    argument: str
    stored: torch.Tensor
    scale: torch.Tensor | None
    weight_format: WeightFormat
    quant_type: QuantTypeName
    layout: WeightLayout
    gate_up: bool
    columns: int

    @property
    def experts(self) -> int:
        """E."""
        return self.stored.shape[0]

    @property
    def rows(self) -> int:
        """N, output features."""
        return self.stored.shape[1]

    @property
    def per_byte(self) -> int:
        """How many codes share a stored element."""
        return self.columns // self.stored.shape[2]

    def codes(self, expert: int) -> torch.Tensor:
        """[N, K'] of one expert in logical order, codes as uint8; a view where nothing is shuffled."""
        matrix = self.stored[expert]
        if self.weight_format != "unquantised":
            matrix = matrix.view(torch.uint8)
        if self.layout == "shuffle_16x16":
            return unshuffle_16x16(matrix)
        if self.layout == "a16w4":
            return unshuffle_a16w4(matrix, self.gate_up)
        return matrix

    def block_scales(self, expert: int) -> torch.Tensor | None:
        """fp32 scales of one expert, [row blocks, column blocks], all blocks of the matrix being of one size.

        Returns:
            None for values without a scale.
        """
        own = self.stored_scales(expert)
        if self.scale is None or own is None:
            return None
        if self.weight_format in MX_FORMATS:
            return self._mx_scales(own)
        if self.weight_format == "int4" and self._groups_first(self.scale):
            return own.t().float()
        return own.float()

    def stored_scales(self, expert: int) -> torch.Tensor | None:
        """The part of `scale` that `block_scales` reads for one expert, as stored; None without a scale."""
        scale = self.scale
        if scale is None:
            return None
        if self.weight_format in MX_FORMATS:
            return self._stored_mx_scales(scale.view(torch.uint8), expert)
        if self.weight_format == "int4" and self._groups_first(scale):
            return scale[expert]
        row_blocks, column_blocks = self._block_grid(scale)
        if scale.numel() == 1:
            return scale.reshape(1, 1)
        return scale.reshape(self.experts, row_blocks, column_blocks)[expert]

    def check(self) -> None:
        """Refuse what cannot be decoded.

        Raises:
            InvalidArgument: a dtype or shape that does not fit format and quant type.
            UnsupportedByEmulation: a layout that this format does not have.
        """
        if self.layout != "logical" and self.weight_format == "int4":
            raise UnsupportedByEmulation(
                f"{self.argument}: int4 weights are read in the logical layout only, got {self.layout!r}; "
                "AITER packs shuffled int4 in a kernel's own order."
            )
        if self.layout == "a16w4" and self.weight_format != "mxfp4":
            raise UnsupportedByEmulation(
                f"{self.argument}: the layout 'a16w4' is defined for mxfp4, got {self.weight_format!r}."
            )
        self._check_stored()
        if self.weight_format == "unquantised":
            if self.scale is not None:
                raise InvalidArgument(f"{self.argument}_scale", "a tensor", "None for unquantised weights")
            return
        if self.scale is None:
            raise InvalidArgument(f"{self.argument}_scale", None, f"the scales of {self.weight_format} weights")
        if self.weight_format in MX_FORMATS:
            self._check_mx_scale(self.scale)
        elif not (self.weight_format == "int4" and self._groups_first(self.scale)):
            self._block_grid(self.scale)

    def _check_stored(self) -> None:
        allowed_dtypes = _CODE_DTYPES.get(self.weight_format, _VALUE_DTYPES)
        if self.stored.dtype not in allowed_dtypes:
            raise InvalidArgument(
                self.argument,
                self.stored.dtype,
                f"{', '.join(map(str, allowed_dtypes))} for {self.weight_format}",
            )
        widths = {self.columns // values_per_byte(self.weight_format)}
        if self.stored.dtype == torch.int8:
            widths.add(self.columns)
        if self.stored.shape[2] not in widths or self.columns % self.stored.shape[2]:
            raise InvalidArgument(
                self.argument,
                f"{self.stored.shape[2]} columns as stored",
                f"{' or '.join(map(str, sorted(widths)))}: {self.columns} {self.weight_format} values a row",
                "w1 has the hidden size as columns, w2 has it as rows and the intermediate size as columns.",
            )
        if self.weight_format in MX_FORMATS and self.columns % MX_BLOCK:
            raise InvalidArgument(
                self.argument,
                f"{self.columns} values a row",
                f"a multiple of {MX_BLOCK}",
                "Pad the weights with zeros.",
            )

    def _groups_first(self, scale: torch.Tensor) -> bool:
        # AITER's int4 scales are [E, K/32, N] in bfloat16 (aiter/ops/quant.py, per_1x32_i4_quant).
        return tuple(scale.shape) == (self.experts, self.columns // MX_BLOCK, self.rows)

    def _block_grid(self, scale: torch.Tensor) -> tuple[int, int]:
        """How many row and column blocks an unshuffled floating-point scale divides the matrix into."""
        rows, columns = self.rows, self.columns
        grids: dict[str, tuple[tuple[int, int], ...]] = {
            "per_tensor": ((1, 1), (rows, 1)),
            "per_token": ((rows, 1),),
            "per_1x32": ((rows, columns // MX_BLOCK),),
            "per_1x128": ((rows // _FP8_TILE, columns // _FP8_TILE), (rows, columns // _FP8_TILE)),
            "per_128x128": ((rows // _FP8_TILE, columns // _FP8_TILE),),
        }
        allowed = grids.get(self.quant_type, ())
        if not scale.is_floating_point() or scale.dtype == torch.float8_e8m0fnu:
            raise InvalidArgument(f"{self.argument}_scale", scale.dtype, f"float32 for {self.weight_format} weights")
        if self.quant_type == "per_tensor" and scale.numel() == 1:
            return 1, 1
        for row_blocks, column_blocks in allowed:
            whole = rows % max(row_blocks, 1) == 0 and columns % max(column_blocks, 1) == 0
            if whole and scale.numel() == self.experts * row_blocks * column_blocks and scale.shape[0] == self.experts:
                return row_blocks, column_blocks
        raise InvalidArgument(
            f"{self.argument}_scale",
            f"shape {tuple(scale.shape)} with quant_type {self.quant_type!r}",
            " or ".join(str([self.experts, *grid]) for grid in allowed) or "None",
        )

    def _check_mx_scale(self, scale: torch.Tensor) -> None:
        if scale.dtype not in _E8M0_DTYPES:
            raise InvalidArgument(
                f"{self.argument}_scale",
                scale.dtype,
                "uint8 or float8_e8m0fnu: one e8m0 byte per block of 32 values",
            )
        blocks = self.columns // MX_BLOCK
        if self.layout == "logical":
            shapes = ((self.experts, self.rows, blocks), (self.experts * self.rows, blocks))
            if tuple(scale.shape) not in shapes:
                raise InvalidArgument(
                    f"{self.argument}_scale",
                    f"shape {tuple(scale.shape)}",
                    " or ".join(map(str, map(list, shapes))),
                )
        elif scale.numel() < self.experts * self.rows * self._stored_blocks():
            raise InvalidArgument(
                f"{self.argument}_scale",
                f"{scale.numel()} elements (shape {tuple(scale.shape)}) in layout {self.layout!r}",
                f"at least {self.experts} * {self.rows} * {self._stored_blocks()}: shuffled scales with padded columns",
                "Shuffle weights and scales together, or pass both in the logical layout.",
            )

    def _stored_blocks(self) -> int:
        """Scales a row in a shuffled layout, pads included."""
        return layout_requirements("scale_e8m0").padded_size(0, self.columns // MX_BLOCK)[1]

    def _stored_mx_scales(self, scale: torch.Tensor, expert: int) -> torch.Tensor:
        """e8m0 bytes of one expert: [N, K/32] in the logical layout, else flat with pads."""
        if self.layout == "logical":
            return scale.reshape(self.experts, self.rows, self.columns // MX_BLOCK)[expert]
        # Rows of an expert are a multiple of 32, and no tile of either layout has more rows: an expert's
        # scales are contiguous, and can be cut out and unshuffled as if there were no others.
        size = self.rows * self._stored_blocks()
        return scale.reshape(-1)[expert * size : (expert + 1) * size]

    def _mx_scales(self, own: torch.Tensor) -> torch.Tensor:
        """[N, K/32] fp32, from whatever layout the e8m0 bytes are in."""
        blocks = self.columns // MX_BLOCK
        if self.layout == "logical":
            return decode_e8m0(own)
        if self.layout == "a16w4":
            own = own.reshape(self.rows, self._stored_blocks())
            return decode_e8m0(unshuffle_scale_a16w4(own, 1, self.gate_up, columns=blocks))
        padded_rows, padded_blocks = layout_requirements("scale_e8m0").padded_size(self.rows, blocks)
        whole = own.new_zeros(padded_rows * padded_blocks)
        whole[: own.numel()] = own
        return decode_e8m0(unshuffle_scale_e8m0(whole.reshape(padded_rows, padded_blocks), self.rows, blocks))
