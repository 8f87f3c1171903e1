"""Rewrite the files of a host's tree, in memory: one outcome for each that has to do with AITER."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aiter_compat.hostscan.tree import SourceFile, mentions_aiter, source_files
from aiter_compat.migrate.engine import rewrite
from aiter_compat.migrate.outcome import Outcome, Unreadable
from aiter_compat.migrate.plan import Plan


@dataclass(frozen=True)
class Treated:
    """A file and what became of it."""

    source: SourceFile
    outcome: Outcome


def rewrite_tree(
    root: str, plan: Plan, *, exclude: tuple[str, ...] = (), progress: Callable[[int, int], None] | None = None
) -> Iterator[Treated]:
    """Every file that names AITER's modules, in the order of the names. Nothing is written.

    Args:
        root: folder of the host's sources, or one file. Links in a folder are not followed: what they lead to is
            either in the folder as well, or none of its business.
        plan: where symbols are to be taken from.
        exclude: glob patterns of relative names to leave out.
        progress: told how far the run is.

    Raises:
        InvalidArgument: `root` does not exist.
    """
    files = [file for file in source_files(root, exclude) if not file.name.endswith(".pyi")]
    for done, file in enumerate(files, 1):
        if not os.path.isdir(root) or not os.path.islink(file.path):
            content = file.read()
            if content is None:
                yield Treated(file, Unreadable(file.name, "cannot be read"))
            elif mentions_aiter(content):
                yield Treated(file, rewrite(content, file.name, plan))
        if progress is not None:
            progress(done, len(files))
