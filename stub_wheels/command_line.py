"""The command line of the builder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from stub_wheels.builder import build_wheel
from stub_wheels.variants import VARIANTS, variant


def main(argv: Sequence[str] | None = None) -> int:
    """Build one stub wheel and write its path to stdout.

    Returns:
        0 when the wheel was written.
    """
    parser = argparse.ArgumentParser(prog="python -m stub_wheels", description="Build a stub amd-aiter wheel.")
    named = "; ".join(f"{name}: {kind.summary}" for name, kind in VARIANTS.items())
    parser.add_argument("name", help=f"a recorded release such as 0.1.15.post3, or one of {named}")
    parser.add_argument("folder", type=Path, help="where the wheel goes; made when missing")
    arguments = parser.parse_args(argv)
    wheel = build_wheel(variant(arguments.name), arguments.folder)
    sys.stdout.write(f"{wheel}\n")
    return 0
