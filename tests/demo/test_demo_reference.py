"""The dense reference is right by itself: its grids and scales are those of the formats' definitions."""

import math

import pytest

torch = pytest.importorskip("torch")

from aiter_compat.demo.reference import (  # noqa: E402
    E2M1_EMAX,
    E2M1_GRID,
    E4M3_EMAX,
    DenseReference,
    Rules,
    qdq_mx,
    round_e2m1,
    round_e4m3,
)


def test_e2m1_takes_ties_to_the_even_code_and_saturates():
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.5, 100.0], dtype=torch.float64)
    even = torch.tensor([0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0], dtype=torch.float64)
    assert torch.equal(round_e2m1(ties), even)
    assert torch.equal(round_e2m1(-ties), -even)


def test_every_e2m1_value_is_its_own_rounding():
    grid = torch.tensor(E2M1_GRID, dtype=torch.float64)
    assert torch.equal(round_e2m1(grid), grid)


def test_e4m3_agrees_with_the_hardware_type_over_its_whole_range():
    # torch's cast is the independent witness; it saturates only in newer versions, so stay within +-448.
    for reach in (448.0, 0.05):  # the second is mostly subnormal
        values = torch.linspace(-reach, reach, 40001)
        assert torch.equal(round_e4m3(values.double()), values.to(torch.float8_e4m3fn).double())


@pytest.mark.parametrize(
    ("largest", "threshold", "scale"),
    [
        (4.0, 1.5, 1.0),
        (5.9, 1.5, 1.0),
        (6.0, 1.5, 2.0),
        (6.0, 1.75, 1.0),
        (7.0, 1.75, 2.0),
        (0.75, 1.5, 0.25),
    ],
)
def test_mxfp4_scale_carries_at_the_threshold(largest, threshold, scale):
    block = torch.zeros(32, dtype=torch.float64)
    block[0], block[1] = (
        largest,
        0.5 * scale,
    )  # half a scale is the smallest element: it survives, less does not
    block[2] = 0.24 * scale
    out = qdq_mx(block, E2M1_EMAX, threshold, round_e2m1)
    assert out[1] == 0.5 * scale
    assert out[2] == 0.0


def test_mxfp8_scale_leaves_the_largest_value_inside_the_grid():
    block = torch.zeros(32, dtype=torch.float64)
    block[0] = 400.0  # significand 1.56: carried, so that the elements are half as large and the grid 32 wide here
    assert qdq_mx(block, E4M3_EMAX, 1.5, round_e4m3)[0] == 384.0


def test_a_zero_block_stays_zero():
    assert torch.equal(qdq_mx(torch.zeros(64), E2M1_EMAX, 1.5, round_e2m1), torch.zeros(64))


class _Experts:
    """One expert of width 32: gate and up are the first two inputs, the output is the activation."""

    def __init__(self, rows):
        first, second = (0, 1) if rows == "interleaved" else (0, 32)
        self.gate_up_proj = torch.zeros(1, 64, 32)
        self.gate_up_proj[0, first, 0] = 1.0
        self.gate_up_proj[0, second, 1] = 1.0
        self.down_proj = torch.eye(32)[None]


@pytest.mark.parametrize("rows", ["interleaved", "separated"])
def test_swiglu_oai_by_hand(rows):
    reference = DenseReference(Rules(rows=rows, transposed=False, qdq=None, alpha=1.702, limit=7.0))
    hidden = torch.zeros(1, 32)
    hidden[0, 0], hidden[0, 1] = 9.0, -8.0  # gate is clamped to 7, up to -7
    out = reference(_Experts(rows), hidden, torch.zeros(1, 1, dtype=torch.int64), torch.full((1, 1), 0.5))
    assert out[0, 0].item() == pytest.approx(0.5 * 7 / (1 + math.exp(-1.702 * 7)) * (-7 + 1), rel=1e-6)
    assert reference.clamped.touched == 2
