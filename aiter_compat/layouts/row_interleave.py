"""Row order of checkpoints that alternate gate and up: g0, u0, g1, u1, … (gpt-oss), against [gate; up].

Weights, scales and bias of the first GEMM all follow it. This is a matter of logical rows; AITER's
`GateMode.INTERLEAVE` is the memory layout in `a16w4_weight`, made from [gate; up], whose bias stays
[gate; up].

Source: transformers `GptOssExperts` (even rows gate, odd rows up); AITER since v0.1.18 has the same as
`interleave_gate_up_rows`, aiter/ops/shuffle.py.
"""

from __future__ import annotations

from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts.tile_permutation import permute_tiles


def interleave_rows(tensor: Tensor, *, dim: int = 1) -> Tensor:
    """[gate; up] rows to alternating rows g0, u0, g1, u1, ….

    Args:
        tensor: weights [E, 2I, K], scales [E, 2I, K/32] or bias [E, 2I], any dtype. Scales flattened to
            [E*2I, K/32] must be viewed as [E, 2I, K/32] first. Not changed, and the result shares no memory
            with it.
        dim: the dimension of the 2I rows; 1 for all of the above, 0 for a single expert's [2I, K].

    Returns:
        A new tensor of the same shape and dtype.

    Raises:
        InvalidArgument: `dim` does not exist, or its size is odd.
    """
    before, pairs, after = _geometry(tensor, dim)
    return permute_tiles(tensor, (*before, 2, pairs, *after), _swapped(len(before), len(after)))


def deinterleave_rows(tensor: Tensor, *, dim: int = 1) -> Tensor:
    """Alternating rows g0, u0, … to [gate; up]: exact inverse of `interleave_rows`, same arguments."""
    before, pairs, after = _geometry(tensor, dim)
    return permute_tiles(tensor, (*before, pairs, 2, *after), _swapped(len(before), len(after)))


def _geometry(tensor: Tensor, dim: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """(sizes before `dim`, pairs of rows, sizes after `dim`)."""
    if not isinstance(tensor, Tensor):
        raise InvalidArgument("tensor", type(tensor).__name__, "a torch.Tensor")
    if not -tensor.ndim <= dim < tensor.ndim:
        raise InvalidArgument("dim", dim, f"a dimension of the tensor of shape {tuple(tensor.shape)}")
    shape, axis = tuple(tensor.shape), dim % tensor.ndim
    if shape[axis] % 2:
        raise InvalidArgument(
            "tensor",
            f"{shape[axis]} rows in dimension {dim} (shape {shape})",
            "an even number of rows: as many up rows as gate rows",
            "Name the dimension of the gate and up rows with dim=.",
        )
    return shape[:axis], shape[axis] // 2, shape[axis + 1 :]


def _swapped(before: int, after: int) -> tuple[int, ...]:
    """Order of axes with the two at `before` swapped."""
    return (*range(before), before + 1, before, *range(before + 2, before + 2 + after))
