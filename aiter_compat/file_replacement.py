"""Put new content into a file so that an interruption leaves either the old or the new one, whole."""

from __future__ import annotations

import os
from pathlib import Path


def replace_whole(target: str, content: bytes, mode: int | None) -> None:
    """Write `content` beside the file and put it in its place.

    Args:
        target: path of the file; a link there is replaced, not followed.
        content: all that the file shall hold.
        mode: its permissions; None: those that a new file gets.

    Raises:
        OSError: it cannot be written; then the file is as it was.
    """
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def mode_of(target: str) -> int | None:
    """Permissions of the file that is there, None without one."""
    try:
        return os.stat(target).st_mode & 0o7777
    except FileNotFoundError:
        return None
