"""The report as text for one screen."""

from __future__ import annotations

import textwrap
from typing import Any

_WIDTH = 118


def as_text(report: dict[str, Any]) -> str:
    """The report for people; parts that failed are named with their error."""
    lines = [f"aiter_compat {report['aiter_compat']}"]
    machine = report.get("machine")
    if machine:
        lines.append(f"  python {machine['python']} on {machine['platform']}")
    packages = report.get("packages")
    if packages is not None:
        listed = ", ".join(f"{name} {version}" for name, version in packages.items())
        lines += _wrapped(listed or "no torch, no package that uses AITER", "  ")
    lines += _aiter(report)
    lines += _capabilities(report)
    lines += _quirks(report)
    lines += _obsolete_workarounds(report)
    lines += _calls(report)
    for part, error in report["errors"].items():
        lines += _wrapped(f"{part} could not be examined: {error}", "! ")
    return "\n".join(lines)


def _aiter(report: dict[str, Any]) -> list[str]:
    found = report.get("aiter")
    if not found:
        return []
    lines = ["aiter", *_wrapped(found["summary"], "  ")]
    for warning in found["warnings"]:
        lines += _wrapped(warning, "  ! ")
    if found["distribution"]:
        lines += _labelled("distribution", found["distribution"])
    outcome = report["import"]
    if outcome["tried"]:
        lines += _labelled("import", outcome["error"] or "works")
    surface = report.get("surface")
    if surface:
        lines += _labelled("GateMode", surface["GateMode"] or "not there")
        if surface["fused_moe"]:
            lines += _labelled("fused_moe", f"{len(surface['fused_moe'])} parameters, last {surface['fused_moe'][-1]}")
        for note in surface["notes"]:
            lines += _wrapped(note, "  ! ")
    return lines


def _capabilities(report: dict[str, Any]) -> list[str]:
    table = report.get("capabilities") or {}
    if not report.get("surface"):
        return []
    having = [name for name, row in table.items() if row["available"]]
    lacking = [f"{name} (v{row['since']})" for name, row in table.items() if not row["available"]]
    lines = _labelled("yes", ", ".join(having) or "none")
    lines += _labelled("no (since)", ", ".join(lacking)) if lacking else []
    return ["capabilities", *lines] if table else []


def _calls(report: dict[str, Any]) -> list[str]:
    lines = []
    serving = report.get("serving")
    if serving:
        lines += _labelled("served by", f"{serving['backend'] or 'nothing'}: {serving['reason']}")
        lines += _labelled("numerics", serving["numerics"])
    chosen = report.get("settings")
    if chosen:
        lines += _labelled("settings", f"checks={chosen['checks']}, strict={'on' if chosen['strict'] else 'off'}")
    return ["calls", *lines] if lines else []


def _quirks(report: dict[str, Any]) -> list[str]:
    """Those by which a result can be lost in full, the others by name: all of it must fit one screen."""
    quirks = report.get("quirks") or ()
    lines = []
    for quirk in quirks:
        if quirk["outcome"] == "lost":
            lines += _wrapped(f"{quirk['name']}: {quirk['effect']}", "  - ")
    others = [quirk["name"] for quirk in quirks if quirk["outcome"] != "lost"]
    lines += _wrapped(f"also {', '.join(others)}", "  - ") if others else []
    return ["quirks of this release (--json has remedies and sources)", *lines] if lines else []


def _obsolete_workarounds(report: dict[str, Any]) -> list[str]:
    """Those that the environment shows to be in use in full, the others as one line each."""
    lines = []
    for row in report.get("obsolete_workarounds") or ():
        if row["in_use"]:
            lines += _wrapped(f"{row['variable']} is set: {row['workaround']}. {row['instead']}", "  ! ")
        elif row["in_use"] is None:
            lines += _wrapped(f"{row['workaround']} (since v{row['obsolete_since']})", "  - ")
    return ["workarounds that this release does not need (--json says what to do instead)", *lines] if lines else []


def _wrapped(text: str, first: str) -> list[str]:
    indent = " " * len(first)
    lines = textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
    return lines or [first.rstrip()]


def _labelled(label: str, text: str) -> list[str]:
    return _wrapped(text, f"  {label:<14}")
