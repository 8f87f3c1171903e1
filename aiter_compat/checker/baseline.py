"""A file of known findings, so that a host can begin to check without mending everything first.

Findings are counted by file, code and symbol, not by line, so that editing a file elsewhere brings none of them back.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from aiter_compat.checker.finding import Finding
from aiter_compat.errors import InvalidArgument
from aiter_compat.file_replacement import mode_of, replace_whole

SCHEMA = 1
_Key = tuple[str, str, str]


def without_known(findings: Iterable[Finding], path: Path) -> list[Finding]:
    """The findings beyond those that the baseline holds.

    Raises:
        InvalidArgument: the file cannot be read, or is no baseline.
    """
    known = _read(path)
    kept = []
    for finding in findings:
        if known[_key(finding)] > 0:
            known[_key(finding)] -= 1
        else:
            kept.append(finding)
    return kept


def write_baseline(findings: Iterable[Finding], path: Path) -> None:
    """Write the findings as a baseline, atomically; the permissions of a file there are kept.

    Raises:
        OSError: it cannot be written.
    """
    counts = Counter(_key(finding) for finding in findings)
    rows = [
        {"file": file, "code": code, "symbol": symbol, "count": counts[file, code, symbol]}
        for file, code, symbol in sorted(counts)
    ]
    text = json.dumps({"schema": SCHEMA, "findings": rows}, indent=1) + "\n"
    replace_whole(str(path), text.encode(), mode_of(str(path)))


def _key(finding: Finding) -> _Key:
    return finding.file, finding.code, finding.symbol


def _read(path: Path) -> Counter[_Key]:
    expected = "a baseline that `aiter-compat check --write-baseline` wrote"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise InvalidArgument("baseline", str(path), expected, f"It has schema {document['schema']!r}.")
        rows = document["findings"]
        return Counter({(row["file"], row["code"], row["symbol"]): int(row["count"]) for row in rows})
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument("baseline", str(path), expected, f"{type(error).__name__}: {error}.") from error
