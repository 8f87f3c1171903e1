"""Install packages once into a folder, and let the environment that runs this import them from there.

    python .ci/share_packages.py FOLDER REQUIREMENT...

An environment for each AITER factor would otherwise hold its own torch, which takes a minute and a GB. The environment
gets a .pth file in its site-packages, and stays an environment of its own: what it installs itself comes first on
`sys.path`. The folder is named after Python and the requirements, so that changing one makes a new folder.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

LINK = "shared_packages.pth"


def main(argv: Sequence[str] | None = None) -> int:
    """Make the folder if it is not there, and link to it.

    Returns:
        0, or pip's exit code when the packages cannot be installed.
    """
    parser = argparse.ArgumentParser(description="Share installed packages between environments.")
    parser.add_argument("store", type=Path, help="where shared folders lie; made when missing")
    parser.add_argument("requirements", nargs="+")
    arguments = parser.parse_args(argv)
    folder = (arguments.store / folder_name(arguments.requirements)).resolve()
    if not folder.is_dir():
        code = _install(folder, arguments.requirements)
        if code:
            return code
    link(folder, Path(sysconfig.get_path("purelib")))
    return 0


def folder_name(requirements: Sequence[str]) -> str:
    """The name of what these requirements are for this Python, such as "py311-pytest-torch-2.13.0"."""
    words = [re.sub(r"[^\w.]+", "-", requirement).strip("-") for requirement in sorted(requirements)]
    return "-".join([f"py{sys.version_info.major}{sys.version_info.minor}", *words])


def link(folder: Path, site: Path) -> None:
    """Have the Python whose site-packages this is import from `folder` too."""
    (site / LINK).write_text(f"{folder}\n", encoding="utf-8")


def _install(folder: Path, requirements: Sequence[str]) -> int:
    """Install beside `folder` and rename: whoever comes first wins, and nobody sees half of it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        target = Path(beside) / "site"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), *requirements]
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - pip, with the requirements given
        if code == 0:
            with contextlib.suppress(OSError):  # another environment was faster
                target.rename(folder)
    return code


if __name__ == "__main__":
    sys.exit(main())
