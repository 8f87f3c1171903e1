"""The kernels that are plain Triton give the torch path's numbers, and the Gluon ones compile for Hopper.

Triton decides at import whether it interprets, so both run in processes of their own.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def run_python(*arguments, **variables):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_plain_kernels_hold_in_the_interpreter():
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "interpreted"), TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@pytest.mark.parametrize(
    ("product", "instruction"),
    [
        # fp8 tensor cores, then bf16 ones, with operands in registers
        ("first_product", "m64n16k32.f32.e4m3.e5m2"),
        ("second_product", "m64n16k32.f32.e4m3.e5m2"),
        ("wide_first_product", "m64n16k16.f32.bf16.bf16"),
        ("wide_second_product", "m64n16k16.f32.bf16.bf16"),
    ],
)
def test_the_products_compile_for_hopper_without_a_gpu(product, instruction, tmp_path):
    done = run_python(
        str(HERE / "compile_for_hopper.py"), product, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"wgmma.mma_async.sync.aligned.{instruction}" in done.stdout
    assert "cp.async.bulk.tensor.2d" in done.stdout  # the copy engine
