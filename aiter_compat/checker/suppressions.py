"""Comments in a host's source that suppress findings on their line or in their file.

# aiter-compat: ignore                          every finding on this line
# aiter-compat: ignore[missing-keyword]         findings with these codes, separated by commas
# aiter-compat: ignore-file                     every finding in the file
# aiter-compat: ignore-file[missing-symbol]     those with these codes
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from aiter_compat.checker.finding import Finding

_COMMENT = re.compile(r"#\s*aiter-compat:\s*ignore(?P<file>-file)?(?:\[(?P<codes>[^\]]*)\])?")


def without_suppressed(findings: Iterable[Finding], root: str) -> list[Finding]:
    """The findings that no comment suppresses.

    Args:
        findings: of one tree.
        root: the tree, or the one file that was checked.
    """
    folder = root if os.path.isdir(root) else os.path.dirname(root)
    files: dict[str, dict[int, frozenset[str] | None]] = {}
    kept = []
    for finding in findings:
        if finding.file not in files:
            files[finding.file] = _comments(os.path.join(folder, *finding.file.split("/")))
        comments = files[finding.file]
        if not any(_covers(comments[line], finding.code) for line in (0, *finding.lines) if line in comments):
            kept.append(finding)
    return kept


def _covers(codes: frozenset[str] | None, code: str) -> bool:
    return codes is None or code in codes


def _comments(path: str) -> dict[int, frozenset[str] | None]:
    """Line (0: the file) -> codes that it suppresses, None for all."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    found: dict[int, frozenset[str] | None] = {}
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if match is not None:
            codes = match["codes"]
            named = None if codes is None else frozenset(code.strip() for code in codes.split(","))
            found[0 if match["file"] else number] = named
    return found
