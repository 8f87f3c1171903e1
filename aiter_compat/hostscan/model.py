"""What a host's source does with AITER, as values: uses, the conditions they stand under, the places they stand at.

A dotted path starts with `aiter` where it is known to lead there. One that starts with `HOST` names something of the
host's own, `host:package.module.name`, until `hostscan.link` has followed it to where that comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

HOST: Final = "host:"
PROBE: Final = "probe:"
"""Start of a requirement that names a function of the host which looks something up, to be linked by that name."""

Scope = Literal["module", "function"]
UseKind = Literal["import", "attribute", "call", "probe", "find_spec", "version"]


@dataclass(frozen=True)
class Requirement:
    """Something that a test of the host looks for.

    Attributes:
        path: dotted path of a module, symbol or enum member; "aiter" where its version is compared.
        keyword: a keyword that the function at `path` takes; None when it is the path itself that is looked for.
        version: comparison of the installed version with another, such as (">=", "0.1.14"); else None.
    """

    path: str
    keyword: str | None = None
    version: tuple[str, str] | None = None


@dataclass(frozen=True)
class Condition:
    """Code that is reached only where every requirement holds or, with `expected` False, where one does not.

    Attributes:
        requirements: empty when no record can decide it (`TYPE_CHECKING`, a test of the version in other words).
        expected: which outcome leads to the code.
        some: one requirement that holds is enough.
    """

    requirements: tuple[Requirement, ...]
    expected: bool = True
    some: bool = False


UNDECIDABLE: Final = Condition(())


@dataclass(frozen=True)
class Place:
    """Where a use stands.

    Attributes:
        line: first line of the statement, call or expression.
        item_line: line of the name or keyword itself, which differs in statements of several lines.
        scope: "module" when importing the file gets there, "function" when a call does.
        conditions: tests around it that ask what AITER has.
        caught: names of the exceptions that an enclosing `try` catches without raising again; "*" for any.
    """

    line: int
    item_line: int
    scope: Scope
    conditions: tuple[Condition, ...] = ()
    caught: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Target:
    """One thing that a name may stand for.

    Attributes:
        path: dotted.
        known: number of leading parts that another use (the import) already answers for.
        when: conditions under which the name stands for it.
        star: it came by `import *`, so it may also be something else.
        mixed: the file that it was taken from gives that name to something else as well, on other platforms.
    """

    path: str
    known: int = 0
    when: tuple[Condition, ...] = ()
    star: bool = False
    mixed: bool = False


@dataclass(frozen=True)
class Keyword:
    """A keyword of a call.

    Attributes:
        name: as written, or as a literal key of a dictionary that the call unpacks.
        place: of the keyword, or of the statement that puts it into the dictionary.
        value: source text of its value when that is a constant or a dotted name, else "".
    """

    name: str
    place: Place
    value: str = ""


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call.

    Attributes:
        positional: source text of each positional argument when it is a constant or a dotted name, else "".
        keywords: every keyword that is known.
        starred: it unpacks a sequence, so there may be more positional ones.
        open: it unpacks a mapping of unknown content, so there may be more keywords.
        bound: positional arguments that a `functools.partial` already holds.
    """

    positional: tuple[str, ...] = ()
    keywords: tuple[Keyword, ...] = ()
    starred: bool = False
    open: bool = False
    bound: int = 0


@dataclass(frozen=True)
class Use:
    """One use of AITER, or of something that may turn out to be AITER's.

    Attributes:
        kind: "import" of a module or of a name from it; "attribute" of what was imported; "call"; "probe", which asks
            whether something is there and survives its absence; "find_spec", a probe that imports the parents;
            "version", which asks for the version of a distribution.
        targets: what it may refer to, in the order of the file; the distribution for a "version".
        place: where it stands.
        module: of an import, the module that the statement names.
        arguments: of a call.
    """

    kind: UseKind
    targets: tuple[Target, ...]
    place: Place
    module: str = ""
    arguments: Arguments | None = None


@dataclass(frozen=True)
class FileScan:
    """What one file holds.

    Attributes:
        file: path relative to the scanned folder, with forward slashes.
        module: dotted name under which the host imports it.
        uses: in the order of the file.
        exports: module-level name (`f`, `C.attribute`, `f()` for what a function returns) -> what it may be.
        flags: module-level name -> conditions under which it is true.
        probes: name of a function that looks something up -> what it looks for.
        stars: modules whose names it all imports.
        error: why it could not be read; then all else is empty.
    """

    file: str
    module: str
    uses: tuple[Use, ...] = ()
    exports: tuple[tuple[str, tuple[Target, ...]], ...] = ()
    flags: tuple[tuple[str, tuple[Condition, ...]], ...] = ()
    probes: tuple[tuple[str, tuple[Requirement, ...]], ...] = ()
    stars: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class HostScan:
    """What a whole tree holds; no path in it starts with `HOST` any more.

    Attributes:
        root: the folder or file that was scanned.
        files: those that use AITER or could not be read, in the order of their names.
        seen: number of Python files found.
        read: number of files parsed.
    """

    root: str
    files: tuple[FileScan, ...]
    seen: int
    read: int
