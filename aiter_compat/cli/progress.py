"""How far a long command is, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WIDTH = 30


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Gives a function to call with the number of things done and of all; None when stderr is no terminal.

    The bar is rich's when it is installed, else a plain one.
    """
    if not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ModuleNotFoundError:
        yield _plain(what)
        print(file=sys.stderr)
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain(what: str) -> Callable[[int, int], None]:
    def show(done: int, total: int) -> None:
        filled = _WIDTH * done // max(total, 1)
        print(f"\r{what} [{'#' * filled:<{_WIDTH}}] {done}/{total}", end="", file=sys.stderr, flush=True)

    return show
