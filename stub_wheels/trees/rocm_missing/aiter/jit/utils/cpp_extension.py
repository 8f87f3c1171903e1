"""Finds no ROCm tool chain, and fails as AITER does then: RuntimeError, caused by an AssertionError."""

import sys

from _cpp_extension_versioner import ExtensionVersioner
from file_baton import FileBaton
from hipify import hipify_python


def executable_path(executable):
    """Never finds it."""
    raise AssertionError(f"Could not find {executable} in PATH or ROCM_HOME(None)")


def _hip_version():
    try:
        return executable_path("hipconfig")
    except AssertionError as error:
        raise RuntimeError("ROCm version file not found") from error


sys.stderr.write("No ROCm runtime is found, using ROCM_HOME='None'\n")
HIP_VERSION = _hip_version()
