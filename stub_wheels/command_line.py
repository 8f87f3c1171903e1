"""The command line of the builder."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from stub_wheels.builder import build_wheel
from stub_wheels.factors import PREFIX, factor
from stub_wheels.variants import VARIANTS, variant


def main(argv: Sequence[str] | None = None) -> int:
    """Build one stub wheel and write its path to stdout.

    Returns:
        0 when the wheel was written, and installed if that was asked for; else pip's exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m stub_wheels", description="Build a stub amd-aiter wheel.")
    named = "; ".join(f"{name}: {kind.summary}" for name, kind in VARIANTS.items())
    parser.add_argument(
        "name", help=f"a recorded release such as 0.1.15.post3, a tox environment such as py311-aiter0114, or {named}"
    )
    parser.add_argument("folder", type=Path, help="where the wheel goes; made when missing")
    parser.add_argument("--install", action="store_true", help="also install it for the Python that runs this")
    arguments = parser.parse_args(argv)
    wheel = build_wheel(variant(_stub_name(arguments.name)), arguments.folder)
    sys.stdout.write(f"{wheel}\n")
    return _install(wheel) if arguments.install else 0


def _stub_name(name: str) -> str:
    """The stub of a tox environment, else the name itself."""
    return factor(name).stub or name if PREFIX in name else name


def _install(wheel: Path) -> int:
    options = ["--quiet", "--no-index", "--no-deps", "--force-reinstall"]  # the stub may have changed since
    command = [sys.executable, "-m", "pip", "install", *options, str(wheel)]
    return subprocess.run(command, check=False).returncode
