"""Decoded matrices kept between calls, within a memory budget; off unless AITER_COMPAT_DECODED_WEIGHTS_MIB is set.

A hit costs a pass over the codes in place of decoding them: the matrix is used only where the codes and scales are
still those that it was decoded from (`content_fingerprint`). fp32 takes eight times the memory of MXFP4 codes.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TypeAlias

import torch

from aiter_compat.backends.emulation.content_fingerprint import fingerprint
from aiter_compat.backends.emulation.expert_matrices import ExpertMatrices
from aiter_compat.backends.emulation.tile_decoder import TileDecoder, tiles
from aiter_compat.settings import settings

_FP32_BYTES = 4
_Key: TypeAlias = tuple[object, ...]
_Content: TypeAlias = tuple[tuple[int, int], tuple[int, int] | None]


@dataclass(frozen=True, eq=False)
class _Entry:
    matrix: torch.Tensor
    content: _Content
    owner: weakref.ref[torch.UntypedStorage]

    @property
    def size(self) -> int:
        return self.matrix.numel() * _FP32_BYTES


class DecodedWeights:
    """Matrices in fp32, the least recently used given up first. Safe to use from several threads.

    Args:
        budget: bytes that the matrices may take together, at any time. A call that is reading a matrix keeps it alive
            until it is done, also when it was given up meanwhile.
    """

    def __init__(self, budget: int = 0) -> None:
        self._budget = budget
        self._used = 0
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._freed: deque[_Key] = deque()
        self._lock = threading.Lock()

    @property
    def budget(self) -> int:
        """Bytes allowed."""
        return self._budget

    @property
    def used(self) -> int:
        """Bytes taken."""
        return self._used

    def limit(self, budget: int) -> None:
        """Set the budget in bytes, and give up what exceeds it."""
        with self._lock:
            self._budget = budget
            self._make_room(0)

    def matrix(self, matrices: ExpertMatrices, expert: int, decoder: TileDecoder) -> torch.Tensor | None:
        """One expert's matrix, decoded now unless it is kept.

        Args:
            matrices: matrices of all experts.
            expert: index of the one wanted.
            decoder: what to decode with.

        Returns:
            [N, K] fp32, not to be written; None where it is not kept: on another device than the CPU, without codes, or
            larger than the whole budget.
        """
        size = matrices.rows * matrices.columns * _FP32_BYTES
        stored = matrices.stored
        if size > self._budget or stored.device.type != "cpu" or matrices.weight_format == "unquantised":
            return None
        storage = stored.untyped_storage()
        key = _key(storage, matrices, expert)
        own_scales = matrices.stored_scales(expert)
        content = (fingerprint(stored[expert]), None if own_scales is None else fingerprint(own_scales))
        self._forget_freed()
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.content == content and entry.owner() is storage:
                self._entries.move_to_end(key)
                return entry.matrix
            self._forget(key)
            self._make_room(size)
            if self._used + size > self._budget:  # the budget was lowered meanwhile
                return None
            matrix = _decoded(matrices, expert, decoder)
            owner = weakref.ref(storage, lambda _: self._storage_was_freed(key))
            self._entries[key] = _Entry(matrix, content, owner)
            self._used += size
        return matrix

    def _make_room(self, size: int) -> None:
        while self._entries and self._used + size > self._budget:
            self._forget(next(iter(self._entries)))

    def _forget(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._used -= entry.size

    def _storage_was_freed(self, key: _Key) -> None:
        """Give up what belonged to weights that are no more. Python calls this anywhere, also inside this class."""
        self._freed.append(key)
        self._forget_freed()

    def _forget_freed(self) -> None:
        while self._freed and self._lock.acquire(blocking=False):
            try:
                key = self._freed.popleft()
                entry = self._entries.get(key)
                if entry is not None and entry.owner() is None:
                    self._forget(key)
            finally:
                self._lock.release()


def _key(storage: torch.UntypedStorage, matrices: ExpertMatrices, expert: int) -> _Key:
    """All that a matrix depends on besides the bytes of its codes and scales."""
    stored = matrices.stored
    return (
        id(storage),
        stored.storage_offset(),
        stored.shape,
        stored.stride(),
        expert,
        matrices.weight_format,
        matrices.quant_type,
        matrices.layout,
        matrices.gate_up,
        matrices.columns,
        None if matrices.scale is None else (matrices.scale.shape, matrices.scale.dtype),
    )


def _decoded(matrices: ExpertMatrices, expert: int, decoder: TileDecoder) -> torch.Tensor:
    codes, scales = matrices.codes(expert), matrices.block_scales(expert)
    matrix = torch.empty(matrices.rows, matrices.columns, dtype=torch.float32)
    for rows in tiles(matrices):
        decoder.decode(matrices, codes, scales, rows, out=matrix[rows])
    return matrix


_OF_THIS_PROCESS = DecodedWeights()


def decoded_weights() -> DecodedWeights | None:
    """Where this process keeps decoded matrices, with the budget of the settings; None when that is 0."""
    budget = settings().decoded_weights_mib << 20
    if budget != _OF_THIS_PROCESS.budget:
        _OF_THIS_PROCESS.limit(budget)
    return _OF_THIS_PROCESS if budget else None
