"""`aiter-compat check`: what a host has to change to run on a range of AITER releases."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from aiter_compat.cli.exit_codes import FINDINGS, FINE, USAGE
from aiter_compat.cli.host_tree import add_path, scanned

_FORMATS = ("text", "json", "github", "sarif")


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("check", help="what a host has to change to run on a range of AITER releases")
    add_path(parser)
    parser.add_argument("--aiter", metavar="SPEC", help='releases, such as ">=0.1.13.post1,<0.1.17"')
    parser.add_argument("--format", choices=_FORMATS, default="text", help="how to print; default: text")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="relative names to leave out")
    parser.add_argument("--ignore", action="append", default=[], metavar="CODE", help="codes that are no findings")
    parser.add_argument("--guarded", action="store_true", help="also report what the host survives")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="known findings, which are left out")
    parser.add_argument("--write-baseline", type=Path, metavar="FILE", help="write the findings there and succeed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; exit code 1 when there are any. The command line wins over pyproject.toml."""
    from aiter_compat.checker.baseline import without_known, write_baseline
    from aiter_compat.checker.check import check
    from aiter_compat.checker.configuration import configuration_for
    from aiter_compat.checker.formats import FORMATS
    from aiter_compat.checker.specification import releases_of
    from aiter_compat.checker.suppressions import without_suppressed
    from aiter_compat.migrations import discover

    project = configuration_for(Path(arguments.path))
    specification = arguments.aiter or project.aiter
    if specification is None:
        print("aiter-compat: say --aiter SPEC, or aiter in [tool.aiter-compat] of pyproject.toml", file=sys.stderr)
        return USAGE
    releases = releases_of(specification)
    scan = scanned(arguments.path, arguments.jobs, (*project.exclude, *arguments.exclude))
    found = check(scan, releases, discover(), guarded=arguments.guarded or project.guarded)
    ignored = {*project.ignore, *arguments.ignore}
    found = without_suppressed([one for one in found if one.code not in ignored], os.path.realpath(arguments.path))
    if arguments.write_baseline is not None:
        try:
            write_baseline(found, arguments.write_baseline)
        except OSError as error:
            print(f"aiter-compat: {arguments.write_baseline} cannot be written: {error}", file=sys.stderr)
            return USAGE
        print(f"{len(found)} findings are in {arguments.write_baseline}", file=sys.stderr)
        return FINE
    baseline = arguments.baseline or project.baseline
    if baseline is not None:
        found = without_known(found, baseline)
    sys.stdout.write(FORMATS[arguments.format](found))
    return FINDINGS if found else FINE
