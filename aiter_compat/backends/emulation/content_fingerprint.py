"""A number for the content of a tensor, fast enough to be taken at every use of a matrix.

It tells a changed weight from an unchanged one however it was changed. A tensor's version counter does not: writes
through `.data` (which is how hosts load weights), through numpy, or by another process leave it as it was, and tensors
of inference mode have none.
"""

from __future__ import annotations

from functools import cache

import torch

_WORD = 8
_WIDTH = 64


def fingerprint(content: torch.Tensor) -> tuple[int, int]:
    """Two numbers of 64 bits: the words in a table 64 wide, summed by row and by column, each sum times a factor.

    A change of any one word changes both. Two contents that differ in more agree with a probability of about 2^-64, a
    permutation included: the sums by row and by column both see where a word is.

    Args:
        content: on the CPU, any dtype; as fast as memory is read where it is contiguous.
    """
    flat = content.detach().reshape(-1).view(torch.uint8)
    short = -flat.numel() % (_WORD * _WIDTH)
    if short:
        flat = torch.nn.functional.pad(flat, (0, short))
    if flat.storage_offset() % _WORD or flat.data_ptr() % _WORD:
        flat = flat.clone()
    words = flat.view(torch.int64).view(-1, _WIDTH)
    return _weighted(words.sum(dim=1)), _weighted(words.sum(dim=0))


def _weighted(sums: torch.Tensor) -> int:
    return int(torch.dot(sums, _factors(sums.numel())))


@cache
def _factors(count: int) -> torch.Tensor:
    """[count] odd int64 numbers; sums and products wrap at 64 bits, where odd factors lose nothing."""
    random = torch.Generator().manual_seed(count)
    return torch.randint(-(2**62), 2**62, (count,), generator=random) * 2 + 1
