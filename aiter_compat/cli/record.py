"""`aiter-compat record`: write the release record of an AITER source tree, without executing it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from aiter_compat.cli.exit_codes import FINE, USAGE


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("record", help="record the surface of an AITER checkout, installed tree or wheel")
    parser.add_argument("source", help="checkout, installed tree or wheel file")
    parser.add_argument(
        "--as", dest="version", metavar="VERSION", help="release to record it as, when nothing states it"
    )
    parser.add_argument("--output", metavar="FOLDER", help="where to write <release>.json; default: print it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Record and print, or write, the result."""
    from aiter_compat.recorder import record_source, record_text, write_record

    record = record_source(arguments.source, as_version=arguments.version)
    if arguments.output is None:
        sys.stdout.write(record_text(record))
        return FINE
    try:
        path = write_record(record, Path(arguments.output))
    except OSError as error:
        print(f"aiter-compat: {arguments.output} cannot be written: {error}", file=sys.stderr)
        return USAGE
    print(f"recorded v{record.release}: {len(record.surface.symbols)} symbols, {path}", file=sys.stderr)
    return FINE
