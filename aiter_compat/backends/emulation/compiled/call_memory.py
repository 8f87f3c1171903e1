"""Memory for what the kernel is told about a call and for what it writes on the way, used again by later calls.

To allocate it anew costs a small layer a hundredth of its time, and more after a call whose weights took the allocator
out of the caches. Small pieces are therefore kept.
"""

from __future__ import annotations

import ctypes

import torch

from aiter_compat.backends.emulation.compiled.layer_call import CALL_NUMBERS

_CACHE_LINE = 64
_SMALLEST = 64 << 10
_LARGEST_KEPT = 1 << 20
_MOST_KEPT = 16


class _Memory:
    """One call's at a time."""

    __slots__ = ("numbers", "numbers_offset", "numbers_start", "scratch", "scratch_start", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.numbers = bytearray(CALL_NUMBERS.size + _CACHE_LINE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.numbers))
        self.numbers_offset = -start % _CACHE_LINE
        self.numbers_start = start + self.numbers_offset
        self.scratch = torch.empty(size + _CACHE_LINE, dtype=torch.uint8)
        self.scratch_start = self.scratch.data_ptr() + -self.scratch.data_ptr() % _CACHE_LINE


_kept: list[_Memory] = []


class CallMemory:
    """Memory for one call.

    It goes to another call when nobody has this object any more: threads that come late to a call read its numbers.

    Args:
        size: bytes of scratch.

    Attributes:
        numbers: address of what `write_numbers` wrote; at the start of a cache line.
        scratch: address of uninitialised bytes; at the start of a cache line.
    """

    __slots__ = ("_memory", "numbers", "scratch")

    def __init__(self, size: int) -> None:
        memory = _taken_up(size)
        self._memory = memory
        self.numbers = memory.numbers_start
        self.scratch = memory.scratch_start

    def write_numbers(self, *numbers: int) -> None:
        """Write the fields of a `LayerCall` that are its own, and zeros for what its threads share."""
        CALL_NUMBERS.pack_into(self._memory.numbers, self._memory.numbers_offset, *numbers)

    def __del__(self) -> None:
        if self._memory.size <= _LARGEST_KEPT and len(_kept) < _MOST_KEPT:
            _kept.append(self._memory)


def _taken_up(size: int) -> _Memory:
    try:
        memory = _kept.pop()
    except IndexError:
        return _Memory(max(size, _SMALLEST))
    return memory if memory.size >= size else _Memory(size)
