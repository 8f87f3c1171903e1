"""The logger of the package, silent until the host configures logging.

It lives here rather than in `aiter_compat/__init__.py` because importing `logging` costs more than the rest of a bare
`import aiter_compat`.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("aiter_compat")
logger.addHandler(logging.NullHandler())
