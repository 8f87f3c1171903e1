"""Which vector instructions the tile kernels are written in, by the processor's features. Imports no compiler."""

from collections.abc import Iterable
from dataclasses import dataclass

TILE_BYTES = 64
"""Size of one column of four-byte lanes of a tile: sixteen rows."""
_AVX512 = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})


@dataclass(frozen=True)
class InstructionSet:
    """What the kernels may use, and how they cut a tile.

    All forms compute the same integers and make each fp32 sum in the same order. So they give the same bits where the
    processor multiplies and adds in one rounding, as all with AVX2 or AVX-512 do.

    Attributes:
        name: for people.
        vector_bytes: 32, then a tile of sixteen rows is two vectors; or 64, then it is one.
        named: whether the byte products are instructions that have names (x86-64), else they are spelt out.
        sums_of_four: whether one instruction adds four byte products to 32 bits (VNNI), else pairs are added in 16.
        wide_lookup: whether a lookup of bytes takes the last bits of an index and no others (VBMI), else the others
            have to be zero.
        integer_rows: for how many activation rows at once there is an integer product, most first. Each row has a
            sum and a dot product in registers for each vector of the tile.
        float_rows: the same of the fp32 product. A multiply-add waits for the one before it in the same sum, so fewer
            than eight sums leave the units idle.
    """

    name: str
    vector_bytes: int
    named: bool
    sums_of_four: bool
    wide_lookup: bool
    integer_rows: tuple[int, ...]
    float_rows: tuple[int, ...]

    @property
    def lanes(self) -> int:
        """Rows of a tile in one vector."""
        return self.vector_bytes // 4

    @property
    def rows_as_they_lie(self) -> bool:
        """Whether one activation row is multiplied by rows of weights that are not turned."""
        return self.vector_bytes == 32 and not self.sums_of_four

    @property
    def vectors(self) -> int:
        """Vectors that the rows of a tile take."""
        return TILE_BYTES // self.vector_bytes


def instruction_set(features: Iterable[str]) -> InstructionSet:
    """The widest form that a processor has.

    Args:
        features: names of what it has, as LLVM spells them; with "+" before them or, for what is missing, "-".
    """
    present = {feature.removeprefix("+") for feature in features if not feature.startswith("-")}
    if present >= _AVX512:
        sums_of_four, wide_lookup = "avx512vnni" in present, "avx512vbmi" in present
        extras = [name for name, there in (("VNNI", sums_of_four), ("VBMI", wide_lookup)) if there]
        return InstructionSet(
            " ".join(("AVX-512", *extras)), 64, True, sums_of_four, wide_lookup, (4, 3, 2, 1), (8, 4, 2, 1)
        )
    if "avx2" in present:
        return InstructionSet("AVX2", 32, True, False, False, (3, 2, 1), (4, 2, 1))
    return InstructionSet("portable", 32, False, False, False, (3, 2, 1), (4, 2, 1))
