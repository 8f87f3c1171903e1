"""The products of decoded tiles are the same on every processor: exact where fp32 is, else with the same bits.

Code for a processor that the machine does not have runs with its instructions spelt out (`emulated_instructions`), and
is compiled for it without being run.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba", exc_type=ImportError)

from aiter_compat.backends.emulation.compiled.kernels.tile_multiplication import INSTRUCTIONS

HERE = Path(__file__).parent
_AVX2 = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt"
_AVX512 = f"{_AVX2},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
# Form of the kernels -> name and features of a processor that should get it, as numba takes them.
TARGETS = {
    "portable": ("generic", ""),
    "AVX-512": ("x86-64-v4", _AVX512),
    "AVX-512 VNNI VBMI": ("sapphirerapids", f"{_AVX512},+avx512vnni,+avx512vbmi"),
}
WIDE = [form for form in TARGETS if form.startswith("AVX-512")]


def run_script(name, *arguments, form=None, cache=None):
    # Named, because a Python that is told to be safe does not look beside a script.
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    if form is not None:
        environment["NUMBA_CPU_NAME"], environment["NUMBA_CPU_FEATURES"] = TARGETS[form]
    command = [sys.executable, str(HERE / name), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def own_digest():
    """Of this machine's form, whose sums are held to be exact."""
    name, worst, digest = run_script("tile_check.py")
    assert (name, float(worst)) == (INSTRUCTIONS.name, 0.0)
    return digest


def test_tiles_are_exact_without_named_instructions():
    name, worst, _ = run_script("tile_check.py", form="portable")
    assert (name, float(worst)) == ("portable", 0.0)


@pytest.mark.parametrize("form", WIDE)
def test_wide_vectors_give_the_same_bits(form, own_digest, tmp_path):
    if not INSTRUCTIONS.named:
        pytest.skip("this processor does not multiply and add in one rounding, so its own bits are others")
    _, features = TARGETS[form]
    # A cache of its own: numba's does not know that other instructions were spelt out than the processor has.
    name, worst, digest = run_script("tile_check.py", features, cache=tmp_path)
    assert (name, float(worst), digest) == (form, 0.0, own_digest)


@pytest.mark.parametrize(
    ("form", "instructions"),
    [
        ("AVX-512", ["zmm", "vpmaddubsw", "vpmaddwd"]),
        ("AVX-512 VNNI VBMI", ["zmm", "vpdpbusd", "vpermb"]),
    ],
)
def test_wide_forms_compile_to_their_instructions(form, instructions, tmp_path):
    name, *assembly = run_script("print_assembly.py", form=form, cache=tmp_path)  # what a cache has is no assembly
    assert name == form
    text = "\n".join(assembly)
    assert [word for word in instructions if word not in text] == []
