"""The sum of a token's slots."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_COLUMNS = 1024


@triton.jit
def _sum(slots, result, columns, CHOICES: tl.constexpr, COUNT: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COUNT + tl.arange(0, COUNT)
    inside = column < columns
    total = tl.zeros((COUNT,), dtype=tl.float32)
    for choice in tl.static_range(CHOICES):
        total += tl.load(slots + (token * CHOICES + choice) * columns + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(result + token * columns + column, total.to(tl.bfloat16), mask=inside)


def sum_slots(slots: torch.Tensor, choices: int) -> torch.Tensor:
    """[M * k, H] bf16 to [M, H] bf16, added up in fp32."""
    tokens, columns = slots.shape[0] // choices, slots.shape[1]
    result = slots.new_empty(tokens, columns)
    _sum[(tokens, triton.cdiv(columns, _COLUMNS))](slots, result, columns, CHOICES=choices, COUNT=_COLUMNS, num_warps=4)
    return result
