"""Whether anything that a surface was read from has changed since, told from a few file states.

A file's own size and modification time show a change of its content; those of the folder that holds it (or would hold
it) show that it came, went or was replaced. A file inside an archive changes with the archive.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass

_Mark = tuple[int, int, int]

# Two changes within one tick of the file system's clock have the same time, so that the second would not be seen.
_TICK_NS = 20_000_000


@dataclass(frozen=True)
class Freshness:
    """States of files and folders at one moment.

    Attributes:
        paths: of those that exist.
        marks: size, modification time and inode of each.
        settled: all of them were at rest, so that any later change shows.
    """

    paths: tuple[str, ...]
    marks: tuple[_Mark | None, ...]
    settled: bool

    @classmethod
    def of(cls, candidates: Iterable[str]) -> Freshness:
        """The states that decide what a reading of these files would give; they need not exist.

        Take it before the reading, so that a change during the reading shows.
        """
        paths: dict[str, None] = {}
        for candidate in candidates:
            path = candidate
            while not os.path.exists(path) and os.path.dirname(path) != path:
                path = os.path.dirname(path)
            paths[path] = None
            if path == candidate:
                paths[os.path.dirname(path)] = None
        marks = tuple(map(_mark, paths))
        newest = max((mark[1] for mark in marks if mark is not None), default=0)
        return cls(tuple(paths), marks, time.time_ns() - newest > _TICK_NS)

    def holds(self) -> bool:
        """Whether all is as it was."""
        return tuple(map(_mark, self.paths)) == self.marks


def _mark(path: str) -> _Mark | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a path with a null byte
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
