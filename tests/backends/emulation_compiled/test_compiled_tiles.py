"""The products of decoded tiles are exact on a processor without AVX2 too; the other tests run on this one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba", exc_type=ImportError)

SCRIPT = Path(__file__).with_name("tile_check.py")


def test_tiles_are_exact_without_avx2():
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, str(SCRIPT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("portable")
