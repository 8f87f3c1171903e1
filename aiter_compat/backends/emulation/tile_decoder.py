"""Some rows of one expert's matrix in fp32, decoded into scratch that is used again.

A code of 8 bits or two codes of 4 bits index a table of 256 entries; one gather is then one byte's values, whatever the
format.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from aiter_compat.backends.emulation.element_tables import element_table
from aiter_compat.backends.emulation.expert_matrices import ExpertMatrices

# With a tile of two megabytes gather, scaling and GEMM meet in the cache; tiles four times smaller or eight times
# larger took a third more processor time (one Zen 3 core, 1024 columns, 16 tokens).
_TILE_VALUES = 1 << 19
# Tiles are whole blocks of any scale layout, the largest being 128 rows high.
_ROW_MULTIPLE = 128


def tiles(matrices: ExpertMatrices) -> Iterator[slice]:
    """Rows that are decoded at once, from the first row to the last."""
    height = max(_ROW_MULTIPLE, _TILE_VALUES // matrices.columns // _ROW_MULTIPLE * _ROW_MULTIPLE)
    for start in range(0, matrices.rows, height):
        yield slice(start, min(start + height, matrices.rows))


class TileDecoder:
    """Decodes tiles of any format, keeping its scratch from one to the next.

    An object belongs to one MoE call and one thread.

    Args:
        device: where the matrices are.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._tables: dict[tuple[str, int], torch.Tensor] = {}
        self._positions = torch.empty(0, dtype=torch.int32, device=device)
        self._values = torch.empty(0, dtype=torch.float32, device=device)

    def decode(
        self,
        matrices: ExpertMatrices,
        codes: torch.Tensor,
        scales: torch.Tensor | None,
        rows: slice,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Decode.

        Args:
            matrices: what the codes are from.
            codes: [N, K'] of one expert, `matrices.codes(expert)`.
            scales: its `matrices.block_scales(expert)`.
            rows: a slice that `tiles` gave, R rows.
            out: contiguous fp32 [R, K] to decode into; None for scratch, which the next call overwrites.

        Returns:
            [R, K] fp32.
        """
        tile = self._values_of(codes[rows], matrices, out)
        if scales is not None:
            _scale_in_place(tile, scales, rows, matrices.rows)
        return tile

    def _values_of(self, codes: torch.Tensor, matrices: ExpertMatrices, out: torch.Tensor | None) -> torch.Tensor:
        """[R, K] fp32, unscaled."""
        shape = (codes.shape[0], matrices.columns)
        values = self._scratch(shape[0] * shape[1]) if out is None else out.view(-1)
        if matrices.weight_format == "unquantised":
            return values.view(shape).copy_(codes)
        table = self._table(matrices.weight_format, matrices.per_byte)
        positions = self._index_scratch(codes.numel()).copy_(codes.reshape(-1))
        # One gather moves all values of a byte: two fp32 values travel as one fp64 element.
        entries = table.view(torch.float64 if table.shape[1] == 2 else torch.float32).reshape(-1)
        torch.index_select(entries, 0, positions, out=values.view(entries.dtype))
        return values.view(shape)

    def _table(self, weight_format: str, per_byte: int) -> torch.Tensor:
        if (weight_format, per_byte) not in self._tables:
            self._tables[weight_format, per_byte] = element_table(weight_format, per_byte, self._device)
        return self._tables[weight_format, per_byte]

    def _scratch(self, size: int) -> torch.Tensor:
        if self._values.numel() < size:
            self._values = torch.empty(size, dtype=torch.float32, device=self._device)
        return self._values[:size]

    def _index_scratch(self, size: int) -> torch.Tensor:
        if self._positions.numel() < size:
            self._positions = torch.empty(size, dtype=torch.int32, device=self._device)
        return self._positions[:size]


def _scale_in_place(tile: torch.Tensor, scales: torch.Tensor, rows: slice, all_rows: int) -> None:
    """Multiply [R, K] values by the scales of their blocks; `rows` starts at a whole block."""
    height = all_rows // scales.shape[0]
    if scales.shape[0] > 1:
        scales = scales[rows.start // height : -(-rows.stop // height)]
    height = tile.shape[0] // scales.shape[0]
    tile.view(scales.shape[0], height, scales.shape[1], -1).mul_(scales[:, None, :, None])
