"""One expert's matrix in fp32: each code's value times the scale of its block."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.element_tables import decode_elements
from aiter_compat.backends.emulation.expert_matrices import ExpertMatrices


def decode_expert(matrices: ExpertMatrices, expert: int) -> torch.Tensor:
    """Decode.

    Args:
        matrices: matrices of all experts.
        expert: index of the one to decode.

    Returns:
        [N, K] fp32 in logical order; one rounding at most, in value times scale.
    """
    codes = matrices.codes(expert)
    if matrices.weight_format == "unquantised":
        return codes.float()
    values = decode_elements(codes, matrices.weight_format, matrices.per_byte)
    scales = matrices.block_scales(expert)
    if scales is None:
        return values
    row_blocks, column_blocks = scales.shape
    blocks = values.view(row_blocks, matrices.rows // row_blocks, column_blocks, matrices.columns // column_blocks)
    return (blocks * scales[:, None, :, None]).view(values.shape)
