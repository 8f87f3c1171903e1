"""Where tox-uv is installed: tell uv where pip is configured to find wheels, since uv reads no pip configuration.

Without it uv would pass over a CPU build of torch that lies on this disk and download a CUDA build.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys


def _pip_find_links() -> list[str]:
    """Locations from PIP_FIND_LINKS and pip's configuration files."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.find-links"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed command
    return [*os.environ.get("PIP_FIND_LINKS", "").split(), *configured.stdout.split()]


if importlib.util.find_spec("tox_uv") is not None and "UV_FIND_LINKS" not in os.environ:
    found = dict.fromkeys(_pip_find_links())
    if found:
        os.environ["UV_FIND_LINKS"] = ",".join(found)
