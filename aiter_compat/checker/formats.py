"""Findings as text, JSON, GitHub annotations and SARIF."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiter_compat._version import __version__
from aiter_compat.checker.finding import Finding

SCHEMA = 1
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_NAMED = 4


def as_text(findings: Sequence[Finding]) -> str:
    """One line for each finding, its remedy on the next, a count at the end."""
    lines = []
    for one in findings:
        lines += [f"{one.file}:{one.line}: {one.code} {one.symbol}: {one.message} [{named(one.releases)}]"]
        lines += [f"    {one.remedy}"]
    lines.append(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}.")
    return "\n".join(lines) + "\n"


def as_json(findings: Sequence[Finding]) -> str:
    """A document with a schema number."""
    document = {"schema": SCHEMA, "findings": [finding.to_dict() for finding in findings]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def as_github(findings: Sequence[Finding]) -> str:
    """Workflow commands that annotate a pull request."""
    return "".join(
        f"::error file={_property(one.file)},line={one.line},title={_property(one.code)}::"
        f"{_data(f'{one.message} [{named(one.releases)}]. {one.remedy}')}\n"
        for one in findings
    )


def as_sarif(findings: Sequence[Finding]) -> str:
    """A SARIF 2.1.0 log with one run."""
    rules = {finding.code: finding.remedy for finding in findings}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "aiter-compat",
                "version": __version__,
                "rules": [{"id": code, "help": {"text": rules[code]}} for code in sorted(rules)],
            }
        },
        "results": [_result(finding, sorted(rules).index(finding.code)) for finding in findings],
    }
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


FORMATS: Mapping[str, Callable[[Sequence[Finding]], str]] = {
    "text": as_text,
    "json": as_json,
    "github": as_github,
    "sarif": as_sarif,
}


def named(releases: Sequence[str]) -> str:
    """A few releases by name, many by the first and the last."""
    if len(releases) <= _MOST_NAMED:
        return ", ".join(releases)
    return f"{releases[0]} … {releases[-1]}, {len(releases)} releases"


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": _uri(finding.file)}, "region": {"startLine": finding.line}}
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": f"{finding.symbol}: {finding.message} [{named(finding.releases)}]. {finding.remedy}"},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"aiterCompat/v1": f"{finding.file}|{finding.code}|{finding.symbol}"},
    }


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
