"""Whether a package called `aiter` is AMD's, told by its files and never by its version number.

PyPI's `aiter` 0.13.20191203 (async-iterator helpers) compares newer than every release of AITER.
"""

from __future__ import annotations

from aiter_compat.detect.trees import Tree

# Files or folders of AITER that PyPI's package has never had, the most telling one first.
_AMD_MARKERS = ("fused_moe.py", "jit/core.py", "ops/enum.py", "fused_moe/__init__.py", "ops/__init__.py")
_AMD_FOLDERS = ("ops", "jit")
_FOREIGN_MARKERS = ("azip.py", "join_aiters.py")


def amd_marker(tree: Tree) -> str | None:
    """The most telling file (or folder) of AMD's AITER in this package, or None."""
    marker = next((name for name in _AMD_MARKERS if tree.is_file(name)), None)
    return marker or next((name for name in _AMD_FOLDERS if tree.is_folder(name)), None)


def foreign_marker(tree: Tree) -> str | None:
    """The most telling file of PyPI's async-iterator package in this package, or None."""
    return next((name for name in _FOREIGN_MARKERS if tree.is_file(name)), None)


def starts_as_foreign(tree: Tree) -> bool:
    """Whether the package's `__init__.py`, which decides what an import does, is that of PyPI's package."""
    text = tree.read_text("__init__.py") or ""
    return any(marker.removesuffix(".py") in text for marker in _FOREIGN_MARKERS)
