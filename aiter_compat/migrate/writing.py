"""Put new content into a file so that an interruption leaves either the old or the new one, whole."""

from __future__ import annotations

import os
import stat
import tempfile


def replace_content(path: str, content: bytes) -> None:
    """Write `content` beside the file and put it in its place; its mode stays, and so does a link to it.

    Raises:
        OSError: it cannot be written; then the file is as it was.
    """
    target = os.path.realpath(path)
    mode = stat.S_IMODE(os.stat(target).st_mode)
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".aiter-compat-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
