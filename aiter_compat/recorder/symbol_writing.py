"""Write the symbols of a release as the differences from the release before it, the same bytes for the same source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

from aiter_compat.errors import RecordError
from aiter_compat.recorder.writing import replace_file
from aiter_compat.releases.symbol_records import SCHEMA, SymbolRecord, symbol_record_of


def symbols_text(record: SymbolRecord, base: SymbolRecord | None = None) -> str:
    """The record as JSON, one name a line: keys sorted, enum members in the order of their definition.

    Args:
        record: what to write.
        base: the record that a reader starts from; None writes every module.
    """
    known: Mapping[str, Mapping[str, Any]] = {} if base is None else base.content
    modules = []
    for module in sorted({*known, *record.content}):
        if module not in record.content:
            modules.append(f"  {_json(module)}: null")
            continue
        lines = _lines(known.get(module, {}), record.content[module])
        if lines or module not in known:
            modules.append(f"  {_json(module)}: {{{_block(lines, '  ')}}}")
    head = {
        "base": None if base is None else base.release,
        "commit": record.commit,
        "release": record.release,
        "schema": SCHEMA,
        "tag": record.tag,
    }
    lines = [f" {_json(key)}: {_json(value)}" for key, value in head.items()]
    lines.append(f' "modules": {{{_block(modules, " ")}}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_symbols(record: SymbolRecord, folder: str | os.PathLike[str]) -> Path:
    """Write `<release>.json` into `folder`, as differences from the last older release there.

    A release there that has this one as its base is written anew, as differences from it; what it says stays the same.

    Returns:
        The path of the file.

    Raises:
        OSError: the folder cannot be read or written.
        RecordError: a file there cannot be read as a record.
    """
    place = Path(folder)
    known = _read(place) if place.is_dir() else {}
    known[record.release] = record
    ordered = sorted(known.values(), key=lambda one: Version(one.release))
    position = ordered.index(record)
    for later in ordered[position + 1 : position + 2]:
        _write(later, record, place)
    return _write(record, ordered[position - 1] if position else None, place)


def _write(record: SymbolRecord, base: SymbolRecord | None, folder: Path) -> Path:
    return replace_file(folder / f"{record.release}.json", symbols_text(record, base))


def _read(folder: Path) -> dict[str, SymbolRecord]:
    texts: dict[str, dict[str, Any]] = {}
    for path in folder.glob("*.json"):
        try:
            texts[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise RecordError(f"{path}: not JSON ({error}).") from error
    found: dict[str, SymbolRecord] = {}
    for release in sorted(texts, key=Version):  # a base is older than what names it
        base = texts[release].get("base")
        if base is not None and base not in found:
            raise RecordError(f"{folder / release}.json: its base {base} is not there.")
        found[release] = symbol_record_of(texts[release], None if base is None else found[base])
    return found


def _lines(base: Mapping[str, Any], names: Mapping[str, Any]) -> list[str]:
    changed = sorted(name for name in {*base, *names} if base.get(name) != names.get(name))
    return [f"   {_json(name)}: {_json(names.get(name))}" for name in changed]


def _block(lines: list[str], end: str) -> str:
    return "\n" + ",\n".join(lines) + f"\n{end}" if lines else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
