"""What one thread needs while it works on a layer: about a hundred kilobytes, allocated once a call."""

from typing import NamedTuple

from numba import carray

from aiter_compat.backends.emulation.compiled.kernels.compiler import inline
from aiter_compat.backends.emulation.compiled.kernels.memory import float_pointer
from aiter_compat.backends.emulation.compiled.kernels.tile_multiplication import SCRATCH_BYTES, TILE_ROWS
from aiter_compat.backends.emulation.compiled.kernels.tile_products import SUM_BYTES

SLOTS_AT_ONCE = 256
TILES_AT_ONCE = 4
SUMS_OF_TILE = SLOTS_AT_ONCE * SUM_BYTES
"""Bytes from the sums of one tile to those of the next."""
_LINE = 64
_FEATURES = 32
_FEATURE_BYTES = 4 * _FEATURES
_ROWS_AT = SCRATCH_BYTES
_SUMS_AT = _ROWS_AT + 8 * SLOTS_AT_ONCE
_FEATURES_AT = _SUMS_AT + TILES_AT_ONCE * SUMS_OF_TILE
WORKSPACE_BYTES = _FEATURES_AT + 4 * _FEATURE_BYTES + _LINE


class Workspace(NamedTuple):
    """Addresses of scratch of one thread, each at the start of a cache line.

    Addresses, since arrays that are handed on cost a function that is not inlined seven arguments each, and atomics to
    count who has them.
    """

    tile: int
    """SCRATCH_BYTES bytes: a decoded tile and its scales."""
    rows: int
    """int64 [SLOTS_AT_ONCE]: addresses of activation rows."""
    sums: int
    """fp32 [TILES_AT_ONCE, SLOTS_AT_ONCE, 16]."""
    gate: int
    """fp32 [32]."""
    up: int
    """fp32 [32]."""
    values: int
    """fp32 [32]."""
    integers: int
    """int32 [32]."""


@inline
def workspace_in(memory):
    """Cut memory to pieces.

    Args:
        memory: address of WORKSPACE_BYTES bytes.
    """
    start = memory + -memory % _LINE
    features = start + _FEATURES_AT
    return Workspace(
        start,
        start + _ROWS_AT,
        start + _SUMS_AT,
        features,
        features + _FEATURE_BYTES,
        features + 2 * _FEATURE_BYTES,
        features + 3 * _FEATURE_BYTES,
    )


@inline
def floats_of(address):
    """The array of 32 features at an address."""
    return carray(float_pointer(address), _FEATURES)


@inline
def sums_of(workspace):
    """The array of all sums."""
    return carray(float_pointer(workspace.sums), (TILES_AT_ONCE, SLOTS_AT_ONCE, TILE_ROWS))
