"""Kernels run in Triton's interpreter, which must be asked for before Triton is imported (test_in_the_interpreter)."""

import os

import pytest

collect_ignore_glob = []
if os.environ.get("TRITON_INTERPRET") != "1":
    collect_ignore_glob.append("test_*.py")
else:
    pytest.importorskip("triton")
