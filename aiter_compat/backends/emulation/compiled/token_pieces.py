"""How many tokens a call takes at once, so that its scratch stays within bounds however long the batch is."""

from __future__ import annotations

_SCRATCH_BYTES = 64 << 20
_FEWEST = 256


def tokens_at_once(hidden: int, choices: int) -> int:
    """Tokens whose slot results take 64 MiB, but no fewer than 256, since every piece reads its experts anew."""
    return max(_FEWEST, _SCRATCH_BYTES // (4 * max(hidden * choices, 1)))
