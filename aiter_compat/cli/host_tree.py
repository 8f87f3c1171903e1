"""What the commands about a host's tree have in common: the path, the scan, its progress."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from aiter_compat.cli.progress import progress

if TYPE_CHECKING:
    from aiter_compat.hostscan import HostScan


def add_path(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what to read."""
    parser.add_argument("path", metavar="PATH", help="folder of the host's sources, or one Python file")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes to use; default: one per core"
    )


def scanned(path: str, jobs: int, exclude: tuple[str, ...] = ()) -> HostScan:
    """Scan the tree, with progress on a terminal; files that cannot be read are named on stderr.

    Raises:
        InvalidArgument: there is no such path.
    """
    from aiter_compat.hostscan import scan

    with progress("reading") as tell:
        found = scan(path, exclude=exclude, workers=jobs, progress=tell)
    for file in found.files:
        if file.error:
            print(f"aiter-compat: {file.file} {file.error}; it is left out", file=sys.stderr)
    return found
