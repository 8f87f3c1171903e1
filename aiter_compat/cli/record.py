"""`aiter-compat record`: write the records of an AITER source tree, without executing it, or compare two releases."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from aiter_compat.cli.exit_codes import FINE, USAGE


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("record", help="record an AITER checkout, installed tree or wheel; compare releases")
    parser.add_argument("source", nargs="?", help="checkout, installed tree or wheel file")
    parser.add_argument(
        "--as", dest="version", metavar="VERSION", help="release to record it as, when nothing states it"
    )
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        help="where to write <release>.json, what a call needs, and symbols/<release>.json, every module and symbol; "
        "default: print the former",
    )
    parser.add_argument(
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="print what changed between two recorded releases, as a draft of migrations to edit",
    )
    parser.set_defaults(run=run, refuse=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Record and print, or write, the result; or compare."""
    if (arguments.source is None) == (arguments.diff is None):
        arguments.refuse("give a source, or --diff with two releases")
    return _record(arguments) if arguments.diff is None else _compare(*arguments.diff)


def _compare(older: str, newer: str) -> int:
    from aiter_compat.recorder import compare, draft
    from aiter_compat.releases.symbol_records import symbol_record

    sys.stdout.write(draft(compare(symbol_record(older, exact=True), symbol_record(newer, exact=True))))
    return FINE


def _record(arguments: argparse.Namespace) -> int:
    from aiter_compat.recorder import record_source, record_symbols, record_text, write_record, write_symbols

    record = record_source(arguments.source, as_version=arguments.version)
    if arguments.output is None:
        sys.stdout.write(record_text(record))
        return FINE
    symbols = record_symbols(arguments.source, as_version=arguments.version)
    folder = Path(arguments.output)
    try:
        paths = write_record(record, folder), write_symbols(symbols, folder / "symbols")
    except OSError as error:
        print(f"aiter-compat: {arguments.output} cannot be written: {error}", file=sys.stderr)
        return USAGE
    print(
        f"recorded v{record.release}: {len(record.surface.symbols)} symbols in {paths[0]}, "
        f"{len(symbols.content)} modules in {paths[1]}",
        file=sys.stderr,
    )
    return FINE
