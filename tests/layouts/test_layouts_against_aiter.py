"""AITER's own shuffles, from a source checkout, against ours.

Opt-in: `AITER_SOURCE=/path/to/checkout`. Only aiter/ops/shuffle.py is executed, loaded by file path; where
that release keeps `e8m0_shuffle` in aiter/utility/fp4_utils.py, which needs Triton, that function alone is
compiled.
"""

import ast
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import (
    interleave_rows,
    shuffle_16x16,
    shuffle_a16w4,
    shuffle_scale_a16w4,
    shuffle_scale_e8m0,
    unshuffle_16x16,
    unshuffle_a16w4,
    unshuffle_scale_a16w4,
    unshuffle_scale_e8m0,
)

SOURCE = os.environ.get("AITER_SOURCE")
pytestmark = pytest.mark.skipif(SOURCE is None, reason="AITER_SOURCE does not name an AITER checkout")

CHIP_INFO = "aiter.jit.utils.chip_info"


@pytest.fixture(scope="module")
def aiter_shuffle():
    """aiter/ops/shuffle.py as a module; the GPU query that newer releases import is answered with gfx950."""
    parents = [CHIP_INFO.rsplit(".", depth)[0] for depth in range(4)]
    fakes = {name: ModuleType(name) for name in parents}
    fakes[CHIP_INFO].get_gfx = lambda: "gfx950"
    path = Path(SOURCE, "aiter/ops/shuffle.py")
    spec = importlib.util.spec_from_file_location("aiter_source_shuffle", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for name, fake in fakes.items():
            patch.setitem(sys.modules, name, fake)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def aiter_e8m0_shuffle(aiter_shuffle):
    if hasattr(aiter_shuffle, "shuffle_scale"):
        return aiter_shuffle.shuffle_scale
    path = Path(SOURCE, "aiter/utility/fp4_utils.py")
    functions = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "e8m0_shuffle"
    ]
    assert len(functions) == 1
    namespace = {"torch": torch}
    exec(compile(ast.Module(functions, []), str(path), "exec"), namespace)
    return namespace["e8m0_shuffle"]


@pytest.mark.parametrize("use_int4", [False, True])
@pytest.mark.parametrize("shape", [(16, 32), (48, 96), (1, 32, 64), (3, 80, 160)])
def test_16x16(shape, use_int4, dtype, aiter_shuffle, random_bits, assert_same_bits):
    weight = random_bits(shape, dtype)
    theirs = aiter_shuffle.shuffle_weight(weight, (16, 16), use_int4=use_int4)
    assert_same_bits(shuffle_16x16(weight, use_int4=use_int4), theirs)
    assert_same_bits(unshuffle_16x16(theirs, use_int4=use_int4), weight)


@pytest.mark.parametrize("gate_up", [False, True])
@pytest.mark.parametrize("shape", [(1, 32, 64), (3, 96, 192), (2, 160, 128)])
def test_a16w4(shape, gate_up, dtype, aiter_shuffle, random_bits, assert_same_bits):
    weight = random_bits(shape, dtype)
    theirs = aiter_shuffle.shuffle_weight_a16w4(weight, 16, gate_up)
    assert_same_bits(shuffle_a16w4(weight, gate_up), theirs)
    assert_same_bits(unshuffle_a16w4(theirs, gate_up), weight)


@pytest.mark.parametrize("shape", [(2, 48, 64), (2, 32, 96)])
def test_a16w4_refuses_what_aiter_refuses(shape, aiter_shuffle, random_bits):
    weight = random_bits(shape)
    with pytest.raises(RuntimeError):
        aiter_shuffle.shuffle_weight_a16w4(weight, 16, True)
    with pytest.raises(InvalidArgument):
        shuffle_a16w4(weight, True)


@pytest.mark.parametrize("shape", [(24, 64), (32, 48)])
def test_16x16_refuses_what_aiter_refuses(shape, aiter_shuffle, random_bits):
    weight = random_bits(shape)
    with pytest.raises(AssertionError):
        aiter_shuffle.shuffle_weight(weight, (16, 16))
    with pytest.raises(InvalidArgument):
        shuffle_16x16(weight)


@pytest.mark.parametrize("gate_up", [False, True])
@pytest.mark.parametrize(("experts", "rows", "columns"), [(1, 32, 8), (3, 96, 24), (2, 160, 16)])
def test_a16w4_scales(experts, rows, columns, gate_up, scale_dtype, aiter_shuffle, random_bits, assert_same_bits):
    scale = random_bits((experts * rows, columns), scale_dtype)
    theirs = aiter_shuffle.shuffle_scale_a16w4(scale, experts, gate_up)
    assert_same_bits(shuffle_scale_a16w4(scale, experts, gate_up), theirs)
    assert_same_bits(unshuffle_scale_a16w4(theirs, experts, gate_up), scale)


@pytest.mark.parametrize("gate_up", [False, True])
@pytest.mark.parametrize("columns", [9, 12, 23])
def test_a16w4_scales_that_are_not_whole_tiles(
    columns, gate_up, scale_dtype, aiter_shuffle, random_bits, assert_same_bits
):
    """A release either raises, as our default does, or pads, as `pad_columns=True` does."""
    scale = random_bits((128, columns), scale_dtype)
    with pytest.raises(InvalidArgument):
        shuffle_scale_a16w4(scale, 2, gate_up)
    try:
        theirs = aiter_shuffle.shuffle_scale_a16w4(scale, 2, gate_up)
    except RuntimeError:
        assert "k_padded" not in Path(SOURCE, "aiter/ops/shuffle.py").read_text()
        return
    assert_same_bits(shuffle_scale_a16w4(scale, 2, gate_up, pad_columns=True), theirs)
    assert_same_bits(unshuffle_scale_a16w4(theirs, 2, gate_up, columns=columns), scale)


@pytest.mark.parametrize("shape", [(256, 8), (512, 24), (1, 1), (70, 5), (300, 13)])
def test_e8m0_scales(shape, scale_dtype, aiter_e8m0_shuffle, random_bits, assert_same_bits):
    scale = random_bits(shape, scale_dtype)
    theirs, ours = aiter_e8m0_shuffle(scale), shuffle_scale_e8m0(scale)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    live = shuffle_scale_e8m0(torch.zeros(shape, dtype=torch.uint8)) == 0
    assert live.sum() == scale.numel()
    assert torch.equal(ours.view(torch.uint8)[live], theirs.view(torch.uint8)[live])
    assert_same_bits(unshuffle_scale_e8m0(theirs, *shape), scale)


def test_row_interleave(aiter_shuffle, random_bits, assert_same_bits):
    if not hasattr(aiter_shuffle, "interleave_gate_up_rows"):
        pytest.skip("this release has no row interleave")
    for shape in ((2, 6, 5), (3, 8)):
        tensor = random_bits(shape)
        assert_same_bits(interleave_rows(tensor), aiter_shuffle.interleave_gate_up_rows(tensor))
