"""What became of one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A use that was found and left as it is.

    Attributes:
        line: where it stands.
        rule: name of the rule that would have rewritten it.
        reason: why it did not, in one sentence without a full stop.
    """

    line: int
    rule: str
    reason: str


@dataclass(frozen=True)
class Rewritten:
    """A file that the rules change.

    Attributes:
        file: relative to the tree, with forward slashes.
        before: its bytes.
        after: its bytes with every change.
        rules: those that changed something, sorted.
        notes: what was left.
    """

    file: str
    before: bytes
    after: bytes
    rules: tuple[str, ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Untouched:
    """A file in which there is nothing to change, or nothing that can be changed safely."""

    file: str
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Unreadable:
    """A file that was left alone because it cannot be read.

    Attributes:
        file: relative to the tree.
        reason: in half a sentence.
    """

    file: str
    reason: str


Outcome = Rewritten | Untouched | Unreadable
