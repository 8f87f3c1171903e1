"""How a call is cut into tiles: a rule with few numbers, found on an H200 and reasonable elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        resident: keep the activations of a tile in shared memory while the weights change (second product only).
        boxed: store whole tiles through the copy engine (second product only, in one part).
        overlap: let the tensor cores work on a block while the one before is added up, which takes registers.
    """

    rows: int
    tokens: int
    stages: int
    warps: int
    registers: int
    parts: int = 1
    least: int = 8
    repeats: int = 1
    overlap: bool = True
    resident: bool = False
    boxed: bool = False


_FEW_STEPS = 4
_RESIDENT_STEPS = 2


def tiles_for(slots: int, experts: int, features: int) -> tuple[Tiles, Tiles]:
    """Tiles of both products.

    Args:
        slots: tokens times top-k.
        experts: local experts.
        features: columns of the second product.
    """
    per_expert = slots / max(min(experts, slots), 1)
    few_steps = features <= _FEW_STEPS * STEP_COLUMNS
    resident = _is_short(features)
    repeats = 8 if few_steps else 1
    if per_expert <= 6:
        parts = 2 if slots <= 32 and not few_steps else 1
        first = Tiles(64, 8, 3 if few_steps else 4, 4, 56)
        return first, replace(first, parts=parts, repeats=repeats if slots > 32 else 1, resident=resident)
    if per_expert <= 12:
        first = Tiles(64, 16, 4, 4, 56)
        return first, replace(first, repeats=repeats, resident=resident)
    if per_expert <= 48:
        first = Tiles(64, 32, 2, 4, 64, overlap=False)
        return first, replace(first, repeats=repeats, resident=resident)
    many = Tiles(64, 64, 2, 4, 64, least=16, overlap=False)
    # Where two steps stay in shared memory and tiles leave through it, there is room for three programs, not four.
    registers = 72 if resident and features > STEP_COLUMNS else 64
    second = replace(many, registers=registers, repeats=8, resident=resident, boxed=resident)
    if per_expert <= 256:
        return many, second
    return Tiles(64, 128, 2, 4, 120, least=32), replace(second, repeats=16 if few_steps else 8)


@dataclass(frozen=True)
class PlainTiles:
    """Tile sizes of one product of the plain form.

    Attributes:
        rows: rows of weights a program multiplies.
        tokens: rows of activations.
        stages: steps of operands on their way.
        warps: warps of a program.
    """

    rows: int
    tokens: int
    stages: int
    warps: int

    def shared_memory(self, terms: int) -> int:
        """Bytes of shared memory a program takes at most, for activations in so many bf16 terms.

        Steps of activations on their way, and room in which decoded weights change hands. The second number is what
        Triton 3.4 to 3.6 take, rounded up; tests compile for several GPUs and hold it to that. On Hopper codes of one
        byte take up to 520 bytes a row, for which the tiles leave room there.
        """
        return self.stages * terms * self.tokens * _STEP_BYTES + self.rows * _EXCHANGE_BYTES


_STEP_BYTES = 256
_EXCHANGE_BYTES = 416
_PLAIN_TILES = (
    PlainTiles(128, 128, 3, 8),
    PlainTiles(64, 64, 3, 4),
    PlainTiles(64, 32, 3, 4),
    PlainTiles(64, 16, 3, 4),
)
_FEWEST_STAGES = 2


def plain_tiles_for(
    slots: int, experts: int, terms: tuple[int, int] = (1, 1), shared_memory: int | None = None
) -> tuple[PlainTiles, PlainTiles]:
    """Tiles of both products of the plain form.

    Args:
        slots: tokens times top-k.
        experts: experts that have matrices here.
        terms: bf16 terms of the activations of each product.
        shared_memory: bytes that a program may have on the device; None for no bound. What does not fit has fewer
            stages, then smaller tiles: consumer GPUs and gfx942 have a fraction of what an H200 has.
    """
    per_expert = slots / max(min(experts, slots), 1)
    smaller = sum(per_expert <= most for most in (96, 48, 12))
    first, second = (_that_fits(_PLAIN_TILES[smaller:], each, shared_memory) for each in terms)
    return first, second


def _that_fits(choices: tuple[PlainTiles, ...], terms: int, shared_memory: int | None) -> PlainTiles:
    for tiles in choices:
        for stages in range(tiles.stages, _FEWEST_STAGES - 1, -1):
            fewer = replace(tiles, stages=stages)
            if shared_memory is None or fewer.shared_memory(terms) <= shared_memory:
                return fewer
    return replace(choices[-1], stages=1)


@dataclass(frozen=True)
class WideTiles:
    """Tile sizes of one product of the wide form.

    Attributes:
        rows, tokens, stages, warps, registers, least, repeats: as for `Tiles`.
        step: columns that are fetched at once, 128 or 256.
    """

    rows: int
    tokens: int
    step: int
    stages: int
    warps: int
    registers: int
    least: int = 8
    repeats: int = 1


def wide_tiles_for(slots: int, experts: int, features: int) -> tuple[WideTiles, WideTiles]:
    """Tiles of both products of the wide form. Arguments as for `tiles_for`."""
    per_expert = slots / max(min(experts, slots), 1)
    repeats = 8 if features <= _FEW_STEPS * STEP_COLUMNS else 1
    if per_expert <= 6:
        return WideTiles(64, 8, 256, 4, 4, 64), WideTiles(64, 8, 256, 4, 4, 64, repeats=repeats if slots > 32 else 1)
    if per_expert <= 12:
        return WideTiles(64, 16, 256, 4, 4, 64), WideTiles(64, 16, 256, 4, 4, 64, repeats=min(repeats, 4))
    if per_expert <= 48:
        return WideTiles(64, 32, 256, 3, 4, 80), WideTiles(64, 32, 256, 3, 4, 80, repeats=repeats)
    if per_expert <= 96:
        both = WideTiles(64, 64, 256, 2, 4, 96, least=16)
        return both, replace(both, repeats=repeats)
    both = WideTiles(128, 128, 256, 2, 8, 168, least=32)
    return both, replace(both, repeats=repeats)


@dataclass(frozen=True)
class SlotTiles:
    """Tile sizes of the slots form.

    Attributes:
        blocks: blocks of columns that a program of the first product multiplies at once at most.
        warps: warps of such a program.
        rows: rows of weights that a program of the second product multiplies for each of a token's slots.
        second_blocks: blocks of columns that it multiplies at once at most.
        second_warps: warps of such a program.
    """

    blocks: int
    warps: int
    rows: int
    second_blocks: int
    second_warps: int


def slot_tiles_for(features: int) -> SlotTiles:
    """Tiles of both products of the slots form, for a second product of so many columns."""
    return SlotTiles(32, 16, 8, 32, 2 if _is_short(features) else 8)


def most_slots_alone(features: int) -> int:
    """Up to how many slots of a second product of so many columns the slots form is the fastest."""
    return 32 if _is_short(features) else 8


def _is_short(features: int) -> bool:
    return features <= _RESIDENT_STEPS * STEP_COLUMNS
