"""`aiter-compat demo`: real host models with MXFP4 experts, on any machine."""

from __future__ import annotations

from typing import Any

from aiter_compat.demo.command import add_arguments, run_parsed


def add(commands: Any) -> None:
    """Register the command; its exit code says whether the numbers hold."""
    parser = commands.add_parser("demo", help="run real host models with MXFP4 experts and check the numbers")
    add_arguments(parser)
    parser.set_defaults(run=run_parsed)
