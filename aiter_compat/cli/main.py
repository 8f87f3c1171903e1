"""Entry point of `aiter-compat` and `python -m aiter_compat`.

Exit codes: 0 fine, 1 findings, 2 usage, 3 the environment lacks what the command needs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from aiter_compat._version import __version__
from aiter_compat.cli import check, demo, doctor, matrix, migrate, record, rules
from aiter_compat.cli.exit_codes import ENVIRONMENT, FINE, USAGE
from aiter_compat.errors import AiterCompatError

_COMMANDS = (doctor, check, matrix, migrate, rules, record, demo)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors of our own are one line on stderr."""
    parser = argparse.ArgumentParser(
        prog="aiter-compat", description="AMD's AITER fused MoE on every release, and without ROCm."
    )
    parser.add_argument("--version", action="version", version=f"aiter-compat {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    arguments = parser.parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except AiterCompatError as error:
        print(f"aiter-compat: {error}", file=sys.stderr)
        return USAGE
    except ModuleNotFoundError as error:
        if error.name != "aiter_compat.migrations":
            raise
        print(
            "aiter-compat: the migrations become part of the package when it is installed; this is a bare checkout. "
            "Run pip install -e . in it.",
            file=sys.stderr,
        )
        return ENVIRONMENT
    except BrokenPipeError:
        # The reader (head, say) has seen enough. Python would complain once more while closing stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    return code


if __name__ == "__main__":
    sys.exit(main())
