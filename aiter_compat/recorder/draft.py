"""The differences between two recorded releases as a draft of migrations: text for a person to edit.

Symbols that were added or removed are comments; what else a host can meet is the content of a file for `migrations/`,
under the name that the file would have. Private names are counted only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from aiter_compat.probe.model import Symbol
from aiter_compat.probe.module_names import signature_text
from aiter_compat.probe.parameters import Parameter
from aiter_compat.recorder.compare import Changes, SignatureChange

_TEMPLATE = '''# --- {name}.py
"""{summary}"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="{kind}",
    symbol="{symbol}",
    detail="{detail}",
    since="{since}",
    remedy="EDIT: what a host does.",
    source="ROCm/aiter v{since} {file}",
)
'''


class _Draft(NamedTuple):
    """One migration.

    Attributes:
        what: what the file name says beyond the symbol's own name.
        kind: as in `migration_model`.
        symbol: path before the change.
        detail: as in `migration_model`.
        summary: first line of the docstring.
        place: path after the change.
    """

    what: str
    kind: str
    symbol: str
    detail: str
    summary: str
    place: str


def draft(changes: Changes) -> str:
    """The draft, ready to print."""
    public = {path: new for path, new in changes.moved.items() if _is_public(path) and _is_public(new)}
    signatures = [change for change in changes.signatures if _is_public(change.before.path)]
    drafts = [*_moved(public), *_signatures(signatures), *_members(changes.members)]
    added, removed = _public(changes.added), _public(changes.removed)
    private = len(changes.added) + len(changes.removed) + len(changes.moved) - len(added) - len(removed) - len(public)
    parts = [
        f"# Draft of the migrations from v{changes.older} to v{changes.newer}, from the records. Keep what a host can\n"
        "# meet, one file in migrations/ for each, and edit the remedies.\n"
        f"# Public names: {len(public)} moved, {len(added)} added, {len(removed)} removed, {len(signatures)} with other"
        f" parameters. Private names moved, added or removed: {private}.\n",
        _listed("Added", added),
        _listed("Removed", removed),
        _listed(
            "Lead elsewhere",
            [f"aiter.{name}: {old} -> {new}" for name, (old, new) in changes.redirected.items()],
        ),
        *(_text(one, changes.newer) for one in drafts),
    ]
    return "\n".join(part for part in parts if part)


def _text(one: _Draft, since: str) -> str:
    name = one.symbol.rpartition(".")[2]
    return _TEMPLATE.format(
        name=f"{name}_{one.what}".lower(),
        summary=one.summary,
        kind=one.kind,
        symbol=one.symbol,
        detail=one.detail,
        since=since,
        file=one.place.rpartition(".")[0].replace(".", "/") + ".py",
    )


def _moved(moved: Mapping[str, str]) -> Iterator[_Draft]:
    for old, new in moved.items():
        source, _, name = old.rpartition(".")
        summary = f"{name} moved from {source} to {new.rpartition('.')[0]}."
        yield _Draft("moved", "moved symbol", old, new, summary, new)


def _signatures(changes: Iterable[SignatureChange]) -> Iterator[_Draft]:
    for change in changes:
        before, after = _by_name(change.before), _by_name(change.after)
        name = change.after.path.rpartition(".")[2]

        def one(what: str, kind: str, detail: str, text: str, change: SignatureChange = change) -> _Draft:
            return _Draft(what, kind, change.before.path, detail, text, change.after.path)

        if change.problems:
            old, new = (signature_text(symbol.parameters or ()) for symbol in (change.before, change.after))
            text = f"{name} breaks calls: {'; '.join(change.problems)}.\n\nBefore {old}\nAfter {new}\n"
            yield one("signature_changed", "positional order", "", text)
        for parameter in after.values():
            known = before.get(parameter.name)
            if known is None and parameter.default is not None:
                yield one(f"{parameter.name}_added", "new keyword", parameter.name, f"{name} takes {parameter.name}.")
            elif known is not None and None not in (known.default, parameter.default) and known != parameter:
                text = f"{name} has {parameter.name}={parameter.default}, before {known.default}."
                yield one(f"{parameter.name}_default", "changed default", parameter.name, text)


def _members(members: Mapping[str, Mapping[str, tuple[int | str | None, int | str | None]]]) -> Iterator[_Draft]:
    for path, changed in members.items():
        name = path.rpartition(".")[2]
        for member, (old, new) in changed.items():
            happened = f"has {member} = {new!r}" if old is None else f"has no {member} any more"
            if old is not None and new is not None:
                happened = f"has {member} = {new!r}, before {old!r}"
            yield _Draft(f"{member}_member", "enum member", path, member, f"{name} {happened}.", path)


def _by_name(symbol: Symbol) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in symbol.parameters or ()}


def _listed(title: str, paths: Iterable[str]) -> str:
    return "".join(f"# {line}\n" for line in (f"{title}:", *(f"  {path}" for path in paths))) if paths else ""


def _public(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if _is_public(path)]


def _is_public(path: str) -> bool:
    return not any(part.startswith("_") for part in path.split("."))
