"""`aiter-compat rules`: the upstream changes that aiter_compat knows."""

from __future__ import annotations

import argparse
from typing import Any

from aiter_compat.cli.exit_codes import FINE


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("rules", help="list the upstream changes that a host can meet")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one paragraph per migration."""
    del arguments
    from aiter_compat.migrations import discover

    for migration in discover():
        print(f"{migration.name}  ({migration.kind}, since v{migration.since})")
        print(f"  {migration.summary}")
        print(f"  {migration.remedy}")
        print(f"  {migration.source}")
    return FINE
