"""The kernels that are plain Triton give the torch path's numbers, and all products compile for the GPUs they serve.

Triton decides at import whether it interprets, so both run in processes of their own.
"""

import importlib.util
import json
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
        ("first_product_in_halves", "m64n64k32.f32.e4m3.e5m2"),
        ("second_product", "m64n16k32.f32.e4m3.e5m2"),
        ("second_product_of_few_columns", "m64n16k32.f32.e4m3.e5m2"),
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
    assert "cp.async.bulk.tensor." in done.stdout  # the copy engine


# Shared memory of a program: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; the CDNA 3
# and CDNA 4 instruction set manuals.
AMPERE, HOPPER, BLACKWELL, CONSUMER = (
    (("cuda", 80), 163),
    (("cuda", 90), 227),
    (("cuda", 100), 227),
    (("cuda", 120), 99),
)
MI300, MI350 = (("hip", "gfx942"), 64), (("hip", "gfx950"), 160)


@pytest.mark.parametrize("target", [AMPERE, BLACKWELL, CONSUMER, MI300, MI350], ids=lambda target: str(target[0][1]))
def test_slots_are_placed_on_other_gpus_too(target, tmp_path):
    (backend, architecture), kibibytes = target
    done = run_python(
        str(HERE / "compile_placement.py"),
        json.dumps([backend, architecture, 64 if backend == "hip" else 32]),
        TRITON_INTERPRET="0",
        TRITON_CACHE_DIR=str(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads(done.stdout)
    assert {"count_slots", "place_rows", "sum_slots"} <= set(made)
    assert max(made.values()) <= kibibytes << 10


@pytest.mark.parametrize(
    ("target", "product", "weights", "layout", "terms", "slots", "instruction"),
    [
        (AMPERE, "plain_first_product", "mxfp8", "shuffle_16x16", 1, 20, "mma.sync.aligned.m16n8k16"),
        (AMPERE, "plain_second_product", "mxfp4", "a16w4", 2, 1000, "mma.sync.aligned.m16n8k16"),
        (HOPPER, "plain_first_product", "mxfp4", "a16w4", 1, 20, "wgmma.mma_async.sync.aligned"),
        (HOPPER, "plain_second_product", "mxfp4", "logical", 3, 1000, "wgmma.mma_async.sync.aligned"),
        (BLACKWELL, "plain_second_product", "mxfp6_e3m2", "logical", 1, 1000, "tcgen05.mma"),
        (CONSUMER, "plain_first_product", "mxfp4", "logical", 1, 1000, "mma.sync.aligned.m16n8k16"),
        (MI300, "plain_first_product", "mxfp4", "a16w4", 1, 1000, "v_mfma_f32_"),
        (MI300, "plain_second_product", "mxfp8", "shuffle_16x16", 3, 1, "v_mfma_f32_"),
        (MI350, "plain_first_product", "mxfp4", "shuffle_16x16", 2, 1000, "v_mfma_f32_"),
        (MI350, "plain_second_product", "mxfp8_e5m2", "logical", 1, 1, "v_mfma_f32_"),
    ],
)
def test_the_plain_products_compile_for_other_gpus(
    target, product, weights, layout, terms, slots, instruction, tmp_path
):
    (backend, architecture), kibibytes = target
    asked = {
        "product": product,
        "target": (backend, architecture),
        "weights": weights,
        "layout": layout,
        "terms": terms,
        "slots": slots,
        "shared_memory": kibibytes << 10,
    }
    done = run_python(
        str(HERE / "compile_plain_products.py"),
        json.dumps(asked),
        TRITON_INTERPRET="0",
        TRITON_CACHE_DIR=str(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads(done.stdout)
    assert instruction in made["assembly"]
    assert made["shared_memory"] <= min(made["expected"], kibibytes << 10)


@pytest.mark.parametrize("target", [AMPERE, HOPPER, CONSUMER, MI300, MI350], ids=lambda target: str(target[0][1]))
def test_slots_are_multiplied_by_themselves_on_every_gpu(target, tmp_path):
    (backend, architecture), kibibytes = target
    done = run_python(
        str(HERE / "compile_slot_products.py"),
        json.dumps([backend, architecture]),
        TRITON_INTERPRET="0",
        TRITON_CACHE_DIR=str(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for assembly, shared_memory in json.loads(done.stdout):
        assert ("dp4a.s32.s32" in assembly) == (backend == "cuda")
        assert shared_memory <= kibibytes << 10
