"""What a migration is: one upstream change, as a value."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from packaging.version import Version

Kind = Literal["moved symbol", "new keyword", "changed default", "changed meaning", "positional order", "enum member"]


@dataclass(frozen=True)
class Migration:
    """One upstream change.

    Attributes:
        kind: what sort of change.
        symbol: dotted path of the AITER symbol, as the release before the change has it.
        since: first release with the change, without the v.
        remedy: what a host does, in one sentence.
        source: public source of the fact.
        detail: what the kind needs to be checked against a release: the new path of a moved symbol, the name of a
            keyword or member.
        name: file name, set by discovery.
        summary: first line of the file's docstring, set by discovery.
    """

    kind: Kind
    symbol: str
    since: str
    remedy: str
    source: str
    detail: str = ""
    name: str = ""
    summary: str = ""

    def named(self, name: str, doc: str) -> Migration:
        """This migration with the name and summary that its file gives it."""
        return dataclasses.replace(self, name=name, summary=doc.strip().partition("\n")[0])

    def sort_key(self) -> tuple[Version, str]:
        """By release, then by name."""
        return Version(self.since), self.name
