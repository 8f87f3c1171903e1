"""How a call is cut into tiles: a rule with few numbers, found on an H200 and reasonable elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

STEP_COLUMNS = 256
"""Columns that one step of a product fetches: 128 bytes of each row of the weights, a whole line of the L2 cache."""


@dataclass(frozen=True)
class Tiles:
    """Tile sizes of one product.

    Attributes:
        rows: rows of weights a program multiplies.
        tokens: rows of activations.
        stages: steps of operands on their way.
        warps: warps that multiply.
        registers: registers a thread at launch; the fetching warp gives most of its share to the others.
        parts: how many programs share the columns of one tile (second product only).
        least: smallest number of rows that a tile is computed with, when it holds fewer than `tokens`.
        repeats: how many tiles of features a program computes (second product only).
    """

    rows: int
    tokens: int
    stages: int
    warps: int
    registers: int
    parts: int = 1
    least: int = 8
    repeats: int = 1


_FEW_STEPS = 4


def tiles_for(slots: int, experts: int, features: int) -> tuple[Tiles, Tiles]:
    """Tiles of both products.

    Args:
        slots: tokens times top-k.
        experts: local experts.
        features: columns of the second product.
    """
    per_expert = slots / max(min(experts, slots), 1)
    few_steps = features <= _FEW_STEPS * STEP_COLUMNS
    repeats = 8 if few_steps else 1
    if per_expert <= 6:
        parts = 2 if slots <= 32 and not few_steps else 1
        return Tiles(64, 8, 4, 4, 48), Tiles(64, 8, 4, 4, 48, parts=parts, repeats=repeats if slots > 32 else 1)
    if per_expert <= 12:
        return Tiles(64, 16, 4, 4, 56), Tiles(64, 16, 4, 4, 56, repeats=min(repeats, 4))
    if per_expert <= 48:
        return Tiles(64, 32, 3, 4, 64), Tiles(64, 32, 3, 4, 64, repeats=repeats)
    second = Tiles(64, 64, 2, 4, 80, least=16, repeats=8)
    if per_expert <= 96:
        return Tiles(64, 64, 2, 4, 80, least=16), second
    return Tiles(128, 128, 4, 8, 168, least=32), second
