"""What a migration is: one upstream change, or one habit of hosts that such changes break, as a value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from packaging.version import Version

if TYPE_CHECKING:
    from aiter_compat.hostscan.model import Use

Kind = Literal[
    "moved symbol",
    "renamed symbol",
    "removed symbol",
    "new keyword",
    "removed keyword",
    "enum member",
    "enum value",
    "changed default",
    "changed meaning",
    "positional order",
    "return shape",
    "internal API",
    "probing idiom",
    "expired workaround",
    "host to shim",
]

SHOWN_BY_RECORDS: Final = frozenset[Kind](
    {"moved symbol", "renamed symbol", "removed symbol", "new keyword", "removed keyword", "enum member"}
)
"""What a release has before and lacks after, or the reverse, so that comparing a host with its record is enough."""

BETWEEN_RELEASES: Final = frozenset[Kind]({"changed default", "changed meaning", "positional order", "return shape"})
"""What matters only to a host that has to run on both sides of the change; a habit is wrong wherever it is used."""


@dataclass(frozen=True)
class Migration:
    """One upstream change, or one habit.

    Attributes:
        kind: what sort of change.
        symbol: dotted path of the AITER symbol, as the release before the change has it; "aiter" for a habit.
        since: first release with the change, without the v; of a habit the first release that it is wrong for.
        remedy: what a host does, in one sentence.
        source: public source of the fact.
        detail: what the kind needs to be checked against a release: the new path of a moved or renamed symbol, the
            name of a keyword or member; of a host-to-shim rewrite the name in aiter_compat.
        until: first release for which it is no matter any more; None for an open end.
        spared: releases in between for which it is no matter either.
        matches: whether a use of a host meets it; None where what a release lacks tells enough
            (`SHOWN_BY_RECORDS`), and for host-to-shim rewrites.
        name: file name, set by discovery.
        summary: first line of the file's docstring, set by discovery.
    """

    kind: Kind
    symbol: str
    since: str
    remedy: str
    source: str
    detail: str = ""
    until: str | None = None
    spared: tuple[str, ...] = ()
    matches: Callable[[Use], bool] | None = None
    name: str = ""
    summary: str = ""

    def named(self, name: str, doc: str) -> Migration:
        """This migration with the name and summary that its file gives it."""
        return dataclasses.replace(self, name=name, summary=doc.strip().partition("\n")[0])

    @property
    def code(self) -> str:
        """What findings and suppressions call it: the file name with dashes."""
        return self.name.replace("_", "-")

    def sort_key(self) -> tuple[Version, str]:
        """By release, then by name."""
        return Version(self.since), self.name
