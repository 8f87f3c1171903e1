"""One thing that a host should change, as every output format needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        code: stable identifier of the rule: the kind of gap, or the name of a migration with dashes.
        symbol: dotted path of AITER's that it is about.
        file: relative to the checked tree, with forward slashes.
        line: where to look.
        message: what is wrong, in one sentence without a full stop.
        remedy: what to do.
        releases: those it is about, oldest first.
        lines: every line on which a comment suppresses it.
    """

    code: str
    symbol: str
    file: str
    line: int
    message: str
    remedy: str
    releases: tuple[str, ...]
    lines: frozenset[int] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "code": self.code,
            "symbol": self.symbol,
            "file": self.file,
            "line": self.line,
            "message": self.message,
            "remedy": self.remedy,
            "releases": list(self.releases),
        }

    def sort_key(self) -> tuple[str, int, str, str]:
        """By place, then by rule."""
        return self.file, self.line, self.code, self.symbol
