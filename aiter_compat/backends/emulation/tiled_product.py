"""x @ w.T for one expert's matrix: decoded a tile of rows at a time, or kept decoded where the user allows memory."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.decoded_weights import DecodedWeights
from aiter_compat.backends.emulation.expert_matrices import ExpertMatrices
from aiter_compat.backends.emulation.tile_decoder import TileDecoder, tiles


class TiledProduct:
    """Multiplies by matrices of any format, keeping its scratch from one call to the next.

    An object belongs to one MoE call and one thread.

    Args:
        device: where the matrices are.
        kept: where decoded matrices are kept between MoE calls; None for nowhere.
    """

    def __init__(self, device: torch.device, kept: DecodedWeights | None = None) -> None:
        self._decoder = TileDecoder(device)
        self._kept = kept

    def __call__(self, x: torch.Tensor, matrices: ExpertMatrices, expert: int) -> torch.Tensor:
        """Multiply.

        Args:
            x: [S, K] fp32.
            matrices: matrices of all experts.
            expert: index of the one to multiply by.

        Returns:
            [S, N] fp32, x @ w.T.
        """
        if matrices.stored.dtype == torch.float32:
            return x @ matrices.codes(expert).t()
        if self._kept is not None:
            matrix = self._kept.matrix(matrices, expert, self._decoder)
            if matrix is not None:
                return x @ matrix.t()
        codes, scales = matrices.codes(expert), matrices.block_scales(expert)
        product = x.new_empty(x.shape[0], matrices.rows)
        for rows in tiles(matrices):
            torch.mm(x, self._decoder.decode(matrices, codes, scales, rows).t(), out=product[:, rows])
        return product
