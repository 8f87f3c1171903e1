"""Write a record so that the same source always gives the same bytes, and a reader never sees half a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from aiter_compat.file_replacement import mode_of, replace_whole
from aiter_compat.releases import ReleaseRecord


def record_text(record: ReleaseRecord) -> str:
    """The record as JSON: keys sorted, one symbol a line, enum members in the order of their definition."""
    plain = record.to_dict()
    symbols = ",\n".join(
        f"  {_json(path)}: {_json(_sorted(plain['symbols'][path]))}" for path in sorted(plain["symbols"])
    )
    lines = [f" {_json(key)}: {_json(plain[key])}" for key in sorted(plain) if key != "symbols"]
    lines.insert(sorted(plain).index("symbols"), f' "symbols": {{\n{symbols}\n }}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_record(record: ReleaseRecord, folder: str | os.PathLike[str]) -> Path:
    """Write `<release>.json` into `folder`, which is made when missing; an existing file is replaced at once.

    Its permissions are kept.

    Returns:
        The path of the file.

    Raises:
        OSError: the folder cannot be written.
    """
    return replace_file(Path(folder) / f"{record.release}.json", record_text(record))


def replace_file(path: Path, text: str) -> Path:
    """Write `text` to `path` at once, in a folder that is made when missing; the permissions of a file there are kept.

    Returns:
        The path.

    Raises:
        OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_whole(str(path), text.encode(), mode_of(str(path)))
    return path


def _sorted(symbol: dict[str, Any]) -> dict[str, Any]:
    return {key: symbol[key] for key in sorted(symbol)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
