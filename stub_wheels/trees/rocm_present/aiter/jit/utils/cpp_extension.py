"""Finds the ROCm tool chain, on a machine that has one."""

from _cpp_extension_versioner import ExtensionVersioner
from file_baton import FileBaton
from hipify import hipify_python


def executable_path(executable):
    """Where the tool would be."""
    return f"/opt/rocm/bin/{executable}"
