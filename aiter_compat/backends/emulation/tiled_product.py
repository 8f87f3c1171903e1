"""x @ w.T for one expert's matrix, decoded a tile of rows at a time into scratch that stays in cache.

A code of 8 bits or two codes of 4 bits index a table of 256 entries; one gather is then one byte's values,
whatever the format. With a tile of two megabytes gather, scaling and GEMM meet in the cache; tiles four times
smaller or eight times larger took a third more processor time (one Zen 3 core, 1024 columns, 16 tokens).
"""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.element_tables import element_table
from aiter_compat.backends.emulation.expert_matrices import ExpertMatrices

_TILE_VALUES = 1 << 19
# Tiles are whole blocks of any scale layout, the largest being 128 rows high.
_ROW_MULTIPLE = 128


class TiledProduct:
    """Multiplies by matrices of any format, keeping its scratch from one call to the next.

    An object belongs to one MoE call and one thread.

    Args:
        device: where the matrices are.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._tables: dict[tuple[str, int], torch.Tensor] = {}
        self._positions = torch.empty(0, dtype=torch.int32, device=device)
        self._values = torch.empty(0, dtype=torch.float32, device=device)

    def __call__(self, x: torch.Tensor, matrices: ExpertMatrices, expert: int) -> torch.Tensor:
        """Multiply.

        Args:
            x: [S, K] fp32.
            matrices: matrices of all experts.
            expert: index of the one to multiply by.

        Returns:
            [S, N] fp32, x @ w.T.
        """
        codes = matrices.codes(expert)
        if codes.dtype == torch.float32:
            return x @ codes.t()
        scales = matrices.block_scales(expert)
        product = x.new_empty(x.shape[0], matrices.rows)
        tile_rows = max(_ROW_MULTIPLE, _TILE_VALUES // matrices.columns // _ROW_MULTIPLE * _ROW_MULTIPLE)
        for start in range(0, matrices.rows, tile_rows):
            rows = slice(start, min(start + tile_rows, matrices.rows))
            tile = self._decode(codes[rows], matrices)
            if scales is not None:
                _scale_in_place(tile, scales, rows, matrices.rows)
            torch.mm(x, tile.t(), out=product[:, rows])
        return product

    def _decode(self, codes: torch.Tensor, matrices: ExpertMatrices) -> torch.Tensor:
        """[R, K] fp32 values of some rows, unscaled, in scratch."""
        shape = (codes.shape[0], matrices.columns)
        values = self._scratch(shape[0] * shape[1])
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
