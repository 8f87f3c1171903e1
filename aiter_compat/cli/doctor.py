"""`aiter-compat doctor`: what is installed and what it can do, on one screen to paste into a bug report."""

from __future__ import annotations

import argparse
import json
from typing import Any

from aiter_compat.cli.exit_codes import ENVIRONMENT, FINE
from aiter_compat.doctor import as_text, examine


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("doctor", help="what is installed, what it can do, what would serve a call")
    parser.add_argument("--json", action="store_true", help="the same as JSON, with a schema number")
    parser.add_argument(
        "--try-import", action="store_true", help="also import AITER once in this process and show its own error"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the report; exit code 3 when an installed AITER was tried and does not import."""
    report = examine(try_import=arguments.try_import)
    print(json.dumps(report, indent=2, ensure_ascii=False) if arguments.json else as_text(report))
    return ENVIRONMENT if report["import"]["error"] else FINE
