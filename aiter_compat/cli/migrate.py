"""`aiter-compat migrate`: rewrite a host, as a diff or in place."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from aiter_compat.cli.exit_codes import ENVIRONMENT, FINDINGS, FINE
from aiter_compat.cli.progress import progress

if TYPE_CHECKING:
    from aiter_compat.migrate.outcome import Outcome, Rewritten
    from aiter_compat.migrate.plan import Plan
    from aiter_compat.migrate.tree import Treated


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("migrate", help="rewrite a host to aiter_compat, or to a range of AITER releases")
    parser.add_argument("path", metavar="PATH", help="folder of the host's sources, or one Python file")
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument("--to", choices=["shim"], help="take AITER's fused MoE and enums from aiter_compat")
    to.add_argument("--aiter", metavar="SPEC", help="take moved symbols from where these releases have them")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--diff", action="store_true", help="print the changes and write nothing; the default")
    how.add_argument("--write", action="store_true", help="change the files")
    parser.add_argument("--only", action="append", default=[], metavar="RULE", help="only this rule; may be repeated")
    parser.add_argument("--skip", action="append", default=[], metavar="RULE", help="not this rule; may be repeated")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="relative names to leave out")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or make the changes; exit code 1 when there are any, 3 when a file could not be written."""
    try:
        from aiter_compat.migrate.tree import rewrite_tree
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "libcst":
            raise
        print("aiter-compat: migrate needs LibCST: pip install 'aiter-compat[migrate]'", file=sys.stderr)
        return ENVIRONMENT
    changed = failed = 0
    with progress("rewriting") as tell:
        plan = _plan(arguments)
        for treated in rewrite_tree(arguments.path, plan, exclude=tuple(arguments.exclude), progress=tell):
            _say(treated.outcome)
            rewritten = _rewritten(treated.outcome)
            if rewritten is not None:
                changed += 1
                failed += not _apply(treated, rewritten, write=arguments.write)
    what = "changed" if arguments.write else "would change"
    print(f"{changed - failed} file{'' if changed - failed == 1 else 's'} {what}", file=sys.stderr)
    if failed:
        return ENVIRONMENT
    return FINDINGS if changed else FINE


def _plan(arguments: argparse.Namespace) -> Plan:
    from aiter_compat.checker.specification import releases_of
    from aiter_compat.migrate.plan import PathPlan, ShimPlan
    from aiter_compat.migrations import discover

    if arguments.to is not None:
        return ShimPlan.of(discover(), arguments.only, arguments.skip)
    return PathPlan.of(releases_of(arguments.aiter), discover(), arguments.only, arguments.skip)


def _rewritten(outcome: Outcome) -> Rewritten | None:
    from aiter_compat.migrate.outcome import Rewritten

    return outcome if isinstance(outcome, Rewritten) else None


def _apply(treated: Treated, rewritten: Rewritten, *, write: bool) -> bool:
    """Write or print one change. False when it cannot be written."""
    from aiter_compat.migrate.writing import replace_content

    if not write:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(_diff(rewritten))  # bytes: a patch in the encoding and line endings of the file
        sys.stdout.buffer.flush()
        return True
    try:
        replace_content(treated.source.path, rewritten.after)
    except OSError as error:
        print(f"aiter-compat: {rewritten.file} cannot be written: {error}", file=sys.stderr)
        return False
    print(f"{rewritten.file}: {', '.join(rewritten.rules)}")
    return True


def _say(outcome: Outcome) -> None:
    from aiter_compat.migrate.outcome import Unreadable

    if isinstance(outcome, Unreadable):
        print(f"aiter-compat: {outcome.file} {outcome.reason}; it is left alone", file=sys.stderr)
        return
    for note in outcome.notes:
        print(f"{outcome.file}:{note.line}: {note.rule} left: {note.reason}", file=sys.stderr)


def _diff(rewritten: Rewritten) -> Iterable[bytes]:
    before, after = (re.findall(rb"[^\n]*\n|[^\n]+", content) for content in (rewritten.before, rewritten.after))
    name = rewritten.file.encode(errors="surrogateescape")
    for line in difflib.diff_bytes(difflib.unified_diff, before, after, b"a/" + name, b"b/" + name):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
