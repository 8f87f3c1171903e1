"""Trees of AITER's releases, taken from a checkout with tags."""

from __future__ import annotations

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

# What importing the package needs: its Python files, the headers of its enums, the templates that it reads.
_NEEDED = ("aiter/*.py", "aiter/jit/*.json", "csrc/*.py", "csrc/include", "csrc/cpp_itfs")


def tags_in(source: Path) -> frozenset[str]:
    """Tags of the checkout, or git directory, at `source`."""
    return frozenset(_git(source, "tag").decode().split())


def extract(source: Path, tag: str, folder: Path) -> Path:
    """The tree of a tag below `folder`, with the file that says its version as a build would have written it."""
    tree = folder / tag
    listed = _git(source, "ls-tree", "-r", "--name-only", tag).decode().splitlines()
    present = [pattern for pattern in _NEEDED if any(_matches(name, pattern) for name in listed)]
    with tarfile.open(fileobj=BytesIO(_git(source, "archive", tag, *present))) as archive:
        archive.extractall(tree, filter="data")
    (tree / "aiter" / "_version.py").write_text(f"__version__ = '{tag.removeprefix('v')}'\n", encoding="utf-8")
    return tree


def _matches(name: str, pattern: str) -> bool:
    start, star, end = pattern.partition("*")
    return name.startswith(start) and name.endswith(end) if star else name.startswith(f"{pattern}/")


def _git(source: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(source), *arguments], check=True, capture_output=True).stdout
