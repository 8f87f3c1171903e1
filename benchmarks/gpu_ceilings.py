"""What the GPU gives at the moment of the measurement: reading memory, and a bf16 matrix product."""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

_COUNT = 8192
READ_BYTES = 4 << 30
_WIDTH = 8192
FLOP = 2 * _WIDTH**3
"""Operations of one `matrix_product` call."""


@triton.jit
def _read(memory, result, COUNT: tl.constexpr):  # noqa: ANN001, ANN202, N803 - as Triton has it
    start = tl.program_id(0).to(tl.int64) * COUNT
    tl.store(result + tl.program_id(0), tl.max(tl.load(memory + start + tl.arange(0, COUNT)), 0))


def read_memory(device: torch.device) -> Callable[[], object]:
    """Read 4 GiB."""
    memory = torch.randint(0, 1 << 30, (READ_BYTES // 4,), dtype=torch.int32, device=device)
    result = torch.empty(memory.numel() // _COUNT, dtype=torch.int32, device=device)
    return lambda: _read[(result.numel(),)](memory, result, COUNT=_COUNT, num_warps=8)


def matrix_product(device: torch.device) -> Callable[[], object]:
    """Multiply two matrices of 8192 x 8192 random bf16 numbers."""
    left, right = (torch.randn(_WIDTH, _WIDTH, device=device).to(torch.bfloat16) for _ in range(2))
    result = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=result)
