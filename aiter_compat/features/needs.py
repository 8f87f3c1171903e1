"""What a capability needs of a surface, as small values that explain themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aiter_compat.features.paths import stated_members
from aiter_compat.probe import Surface


class Need(Protocol):
    """One condition on a surface."""

    def missing(self, surface: Surface) -> str | None:
        """What the surface lacks, as half a sentence, or None when the condition holds."""


@dataclass(frozen=True)
class Keyword:
    """A function takes these keywords."""

    function: str
    names: tuple[str, ...]

    def missing(self, surface: Surface) -> str | None:
        """See `Need.missing`."""
        parameters = surface.parameters(self.function)
        if parameters is None:
            return f"there is no {self.function}"
        known = {parameter.name for parameter in parameters}
        lacking = [name for name in self.names if name not in known]
        return f"{self.function} takes no {' and no '.join(lacking)}" if lacking else None


@dataclass(frozen=True)
class Member:
    """An enum has this member; `enum` lists the places where the enum may be."""

    enum: tuple[str, ...]
    name: str

    def missing(self, surface: Surface) -> str | None:
        """See `Need.missing`."""
        members = stated_members(surface, self.enum)
        place = surface.first(self.enum)
        if members is None:
            return f"there is no {self.enum[0]}" if place is None else f"the members of {place} are not known"
        return None if self.name in members else f"{place} has no {self.name}"


@dataclass(frozen=True)
class AnyOf:
    """At least one of these symbols exists."""

    paths: tuple[str, ...]

    def missing(self, surface: Surface) -> str | None:
        """See `Need.missing`."""
        return None if surface.first(self.paths) is not None else f"there is no {' and no '.join(self.paths)}"
