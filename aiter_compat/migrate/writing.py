"""Put new content into a file of the host: whole or not at all, its mode and a link to it as they were."""

from __future__ import annotations

import os
import stat

from aiter_compat.file_replacement import replace_whole


def replace_content(path: str, content: bytes) -> None:
    """Write `content` beside the file and put it in its place; its mode stays, and so does a link to it.

    Raises:
        OSError: it cannot be written; then the file is as it was. Also when there is no file any more.
    """
    target = os.path.realpath(path)
    replace_whole(target, content, stat.S_IMODE(os.stat(target).st_mode))
