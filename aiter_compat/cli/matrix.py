"""`aiter-compat matrix`: which release of AITER lacks what a host uses."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from aiter_compat.cli.exit_codes import FINDINGS, FINE, USAGE
from aiter_compat.cli.host_tree import add_path, scanned
from aiter_compat.errors import InvalidArgument


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("matrix", help="which release of AITER lacks what a host uses")
    add_path(parser)
    parser.add_argument(
        "--releases", metavar="A,B", help="releases to compare with, without the v; default: every recorded one"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with a schema number")
    parser.add_argument("--html", metavar="FILE", help="also write a page with a sortable heat map")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the matrix; exit code 1 when the host does not survive one of the releases."""
    from aiter_compat.checker.matrix import matrix
    from aiter_compat.checker.matrix_html import as_html
    from aiter_compat.checker.matrix_text import as_text
    from aiter_compat.releases.symbol_records import symbol_record, symbol_releases

    asked: str | None = arguments.releases
    releases = symbol_releases() if asked is None else tuple(one.strip() for one in asked.split(",") if one.strip())
    if not releases:
        raise InvalidArgument("--releases", asked, "versions without the v, separated by commas")
    for release in releases if asked is not None else ():
        symbol_record(release, exact=True)  # an unknown one is refused before the tree is read
    found = matrix(scanned(arguments.path, arguments.jobs), releases)
    if arguments.html is not None:
        try:
            Path(arguments.html).write_text(as_html(found), encoding="utf-8")
        except OSError as error:
            print(f"aiter-compat: {arguments.html} cannot be written: {error}", file=sys.stderr)
            return USAGE
    sys.stdout.write(
        json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n" if arguments.json else as_text(found)
    )
    return FINDINGS if found.bare else FINE
