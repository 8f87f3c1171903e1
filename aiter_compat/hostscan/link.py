"""Follow names of the host's own, across its files, to the AITER that they come from.

A file may take `QuantType` from another file of the host, which took it from AITER; a test may call a function of
another file that looks at AITER. Scanning leaves both as names (`host:package.module.name`, `probe:function`); here
they become paths of AITER, or are dropped because they lead elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from aiter_compat.hostscan.model import (
    HOST,
    PROBE,
    Arguments,
    Condition,
    FileScan,
    Keyword,
    Place,
    Requirement,
    Target,
    Use,
)

_DEPTH = 8  # files that take a name from one another in turn


class _Asked(NamedTuple):
    """What a test asks for.

    Attributes:
        requirements: of AITER.
        alone: it asks for nothing else.
    """

    requirements: tuple[Requirement, ...]
    alone: bool


class Linker:
    """Knows what every scanned file offers to the others.

    Args:
        files: the scans of all files.
    """

    def __init__(self, files: Iterable[FileScan]) -> None:
        files = list(files)
        self._exports: Mapping[str, Mapping[str, tuple[Target, ...]]] = {
            file.module: dict(file.exports) for file in files
        }
        self._flags = {file.module: dict(file.flags) for file in files}
        self._stars = {file.module: file.stars for file in files}
        self._takes_all: dict[str, list[str]] = {}
        for file in files:
            for star in file.stars:
                self._takes_all.setdefault(star.removeprefix(HOST), []).append(file.module)
        self._probes: dict[str, tuple[Requirement, ...] | None] = {}
        for file in files:
            for name, requirements in file.probes:
                known = self._probes.setdefault(name, requirements)
                if known != requirements:
                    self._probes[name] = None  # two functions of one name that look for different things
        self._followed: dict[str, tuple[Target, ...]] = {}
        self._leading = self._names_that_lead_to_aiter()

    def offered(self) -> dict[str, frozenset[str]]:
        """Module -> names of its own that other files can take to reach AITER."""
        offered: dict[str, set[str]] = {}
        for module, name in self._leading:
            if any(self._names_aiter(target) for target in self._exports.get(module, {}).get(name, ())):
                offered.setdefault(module, set()).add(name)
        return {module: frozenset(names) for module, names in offered.items()}

    def _names_aiter(self, target: Target) -> bool:
        return not target.path.startswith(HOST) or self._split(target.path) in self._leading

    def _names_that_lead_to_aiter(self) -> frozenset[tuple[str, str]]:
        """Module and name of everything that comes from AITER, directly or through other files."""
        takers: dict[tuple[str, str], set[tuple[str, str]]] = {}
        waiting: list[tuple[str, str]] = []
        for module, names in self._exports.items():
            for name, targets in names.items():
                own = (module, _first(name))
                for target in targets:
                    if target.path.startswith(HOST):
                        takers.setdefault(self._split(target.path), set()).add(own)
                    else:
                        waiting.append(own)
        leading: set[tuple[str, str]] = set()
        while waiting:
            one = waiting.pop()
            if one not in leading:
                leading.add(one)
                waiting += takers.get(one, ())
                waiting += [(module, one[1]) for module in self._takes_all.get(one[0], ())]
        return frozenset(leading)

    def _split(self, path: str) -> tuple[str, str]:
        """The file that a name of the host is in, and the name there; ("", "") when it was not scanned."""
        parts = path[len(HOST) :].split(".")
        for size in range(len(parts) - 1, 0, -1):
            module = ".".join(parts[:size])
            if module in self._exports:
                return module, _first(parts[size])
        return "", ""

    def linked(self, file: FileScan) -> FileScan:
        """The file with every name followed."""
        uses = dict.fromkeys(use for use in map(self._use, file.uses) if use is not None)
        return dataclasses.replace(file, uses=tuple(uses))

    def _use(self, use: Use) -> Use | None:
        targets = self.targets(use.targets)
        if not targets:
            return None
        arguments = None if use.arguments is None else self._arguments(use.arguments)
        return dataclasses.replace(use, targets=targets, place=self._place(use.place), arguments=arguments)

    def _arguments(self, arguments: Arguments) -> Arguments:
        keywords = tuple(Keyword(one.name, self._place(one.place), one.value) for one in arguments.keywords)
        return dataclasses.replace(arguments, keywords=keywords)

    def _place(self, place: Place) -> Place:
        return dataclasses.replace(place, conditions=self._conditions(place.conditions))

    def targets(self, targets: Iterable[Target], depth: int = 0) -> tuple[Target, ...]:
        """What these lead to in AITER."""
        found: list[Target] = []
        for target in targets:
            when = self._conditions(target.when)
            if not target.path.startswith(HOST):
                if "()" not in target.path:
                    found.append(dataclasses.replace(target, when=when))
            elif depth < _DEPTH:
                for led in self._follow(target.path, depth):
                    star, mixed = target.star or led.star, target.mixed or led.mixed
                    found.append(dataclasses.replace(led, when=when + led.when, star=star, mixed=mixed))
        return tuple(dict.fromkeys(found))

    def _follow(self, path: str, depth: int) -> tuple[Target, ...]:
        known = self._followed.get(path)
        if known is None:
            self._followed[path] = ()  # names that lead in a circle lead nowhere
            known = self._followed[path] = tuple(self._led(path, depth))
        return known

    def _led(self, path: str, depth: int) -> list[Target]:
        module, name = self._split(path)
        if not name or ((module, name) not in self._leading and not self._stars[module]):
            return []
        return self._inside(module, path[len(HOST) + len(module) + 1 :].split("."), depth)

    def _inside(self, module: str, parts: list[str], depth: int) -> list[Target]:
        found: list[Target] = []
        names = self._exports[module]
        for size in range(1, len(parts) + 1):
            for target in names.get(".".join(parts[:size]), ()):
                rest = "".join(f".{part}" for part in parts[size:])
                found += self.targets((dataclasses.replace(target, path=target.path + rest),), depth + 1)
        if not found and parts:
            for star in self._stars[module]:
                target = Target(".".join([star, *parts]), 0, star=not star.startswith(HOST))
                found += self.targets((target,), depth + 1)
        return found

    def _conditions(self, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
        return tuple(dict.fromkeys(one for condition in conditions for one in self._condition(condition)))

    def _condition(self, condition: Condition) -> tuple[Condition, ...]:
        if not condition.requirements:
            return (condition,)
        each = [self._asked(requirement) for requirement in condition.requirements]
        if condition.some:
            return _one_of([asked.requirements for asked in each])
        linked = tuple(dict.fromkeys(one for asked in each for one in asked.requirements))
        if not linked or not (condition.expected or all(asked.alone for asked in each)):
            return ()  # the host may have reasons of its own to come here
        return (dataclasses.replace(condition, requirements=linked),)

    def _asked(self, requirement: Requirement, depth: int = 0) -> _Asked:
        """What a test asks AITER for, followed through the functions and flags of the host."""
        if requirement.path.startswith(PROBE):
            found = self._probes.get(requirement.path[len(PROBE) :]) or ()
        elif requirement.path.startswith(HOST):
            found = tuple(self._host_requirement(requirement))
        else:
            return _Asked((requirement,), alone=True)
        each = [self._asked(one, depth + 1) for one in found] if depth < _DEPTH else []
        requirements = tuple(dict.fromkeys(one for asked in each for one in asked.requirements))
        return _Asked(requirements, alone=bool(each) and all(asked.alone for asked in each))

    def _host_requirement(self, requirement: Requirement) -> list[Requirement]:
        """What a name of the host asks for when it is tested: a flag's own conditions, or that AITER has it."""
        parts = requirement.path[len(HOST) :].split(".")
        for size in range(len(parts) - 1, 0, -1):
            flags = self._flags.get(".".join(parts[:size]), {})
            conditions = flags.get(".".join(parts[size:]))
            if conditions is not None:
                return [one for condition in conditions if condition.expected for one in condition.requirements]
        led = self.targets((Target(requirement.path),))
        return [Requirement(led[0].path, requirement.keyword)] if len(led) == 1 else []


def _one_of(alternatives: Sequence[tuple[Requirement, ...]]) -> tuple[Condition, ...]:
    """That all requirements of one of several alternatives hold, as far as a single condition can say it."""
    common = tuple(one for one in alternatives[0] if all(one in asked for asked in alternatives))
    if common:
        return (Condition(common),)
    if all(len(asked) == 1 for asked in alternatives):
        return (Condition(tuple(one for (one,) in alternatives), some=True),)
    return ()


def _first(name: str) -> str:
    return name.partition(".")[0].partition("(")[0]
