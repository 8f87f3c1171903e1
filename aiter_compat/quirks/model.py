"""What a quirk is: one behaviour behind an unchanged signature, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from packaging.version import Version

from aiter_compat.probe import Surface
from aiter_compat.releases import ReleaseRange

Outcome = Literal["lost", "harmless", "note"]


@dataclass(frozen=True)
class Evidence:
    """What the installed files show, which wins over the version number: development builds and forks differ from it.

    Attributes:
        symbol: dotted path.
        keyword: parameter of that function; None: the symbol itself.
        present: the quirk holds where it is there; False: where it is not.
    """

    symbol: str
    keyword: str | None = None
    present: bool = True

    def holds(self, surface: Surface) -> bool:
        """Whether a release with this surface has the quirk."""
        there = surface.has(self.symbol) if self.keyword is None else surface.parameter(self.symbol, self.keyword)
        return bool(there) is self.present


@dataclass(frozen=True)
class Quirk:
    """One behaviour that no signature shows.

    Attributes:
        name: stable identifier.
        ranges: releases that behave so, `until` exclusive: where a range ends the quirk has expired. Several where a
            fix was released on one branch before another.
        effect: what happens, in one sentence.
        remedy: what a caller does about it.
        source: where this was read: AITER tag and file, or a public issue.
        outcome: "lost": a kernel family that may serve such a call computes something else than was asked for;
            "harmless": it cannot change the result of a call that keeps AITER's own preconditions; "note": a person
            should know, nothing is lost.
        when: names of `quirks.conditions` that a call must all meet.
        warns: `backend="aiter"` warns once about it; False where the caller has stated what it is about.
        activations: canonical activations it concerns; empty: all.
        quant_types: canonical quant types it concerns; empty: all.
        evidence: what shows it in the installed files; None: the version number has to do.
        ended_by: symbols one of which came with its end, for builds whose version number does not tell.
    """

    name: str
    ranges: tuple[ReleaseRange, ...]
    effect: str
    remedy: str
    source: str
    outcome: Outcome = "note"
    when: tuple[str, ...] = ()
    warns: bool = True
    activations: tuple[str, ...] = ()
    quant_types: tuple[str, ...] = ()
    evidence: Evidence | None = None
    ended_by: tuple[str, ...] = ()

    @property
    def harmless(self) -> bool:
        """Whether a call that meets it computes what was asked for all the same."""
        return self.outcome != "lost"

    @property
    def expires(self) -> str | None:
        """First release that no longer has it; None: no release is known to have ended it."""
        return self.ranges[-1].until

    def holds(self, version: Version | None, surface: Surface | None = None) -> bool:
        """Whether a release has it.

        Args:
            version: the release; None: unknown, taken for newer than every recorded one.
            surface: the installed surface, whose evidence wins over `version`; None: not at hand.
        """
        if surface is not None and self.evidence is not None:
            return self.evidence.holds(surface)
        if self._ended(surface):
            return False
        if version is None:
            return self.expires is None
        return any(span.contains(version) for span in self.ranges)

    def over(self, version: Version | None, surface: Surface | None = None) -> bool:
        """Whether a release had it ended: it does not hold, and began before."""
        if self.holds(version, surface):
            return False
        if version is None or self._ended(surface):
            return True
        return any(span.since is None or not ReleaseRange(None, span.since).contains(version) for span in self.ranges)

    def _ended(self, surface: Surface | None) -> bool:
        return surface is not None and surface.first(self.ended_by) is not None

    def concerns(self, activation: str, quant_type: str) -> bool:
        """Whether a call with this activation and quant type can meet it."""
        return (not self.activations or activation in self.activations) and (
            not self.quant_types or quant_type in self.quant_types
        )

    @cached_property
    def note(self) -> str:
        """What a decision says of it."""
        return f"quirk {self.name}: {self.effect} ({self.source}); {self.remedy}"

    def __str__(self) -> str:
        return f"quirk {self.name}: {self.effect} ({self.source})"
