"""Bytes that AITER v0.1.15.post3 itself produced, there and back."""

from pathlib import Path

import numpy as np
import pytest
import torch

from aiter_compat.layouts import (
    shuffle_16x16,
    shuffle_a16w4,
    shuffle_scale_a16w4,
    shuffle_scale_e8m0,
    unshuffle_16x16,
    unshuffle_a16w4,
    unshuffle_scale_a16w4,
    unshuffle_scale_e8m0,
)

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
EXPERTS = 2


@pytest.fixture(scope="module")
def layouts():
    with np.load(GOLDEN / "layouts.npz") as archive:
        return {name: torch.from_numpy(archive[name]) for name in archive.files}


@pytest.fixture(scope="module")
def interleaved():
    with np.load(GOLDEN / "moew_1x32_E4_H256_I256_interleave.npz") as archive:
        return {name: torch.from_numpy(archive[name]) for name in archive.files if name.endswith("_u8")}


@pytest.mark.parametrize("case", ["E2N64K256", "E2N128K512", "odd"])
def test_weights_in_16x16(case, layouts, assert_same_bits):
    logical, shuffled = layouts[f"{case}_w"], layouts[f"{case}_w_shuf16"]
    assert_same_bits(shuffle_16x16(logical), shuffled)
    assert_same_bits(unshuffle_16x16(shuffled), logical)


def test_bf16_weights_in_16x16(layouts, assert_same_bits):
    logical, shuffled = (layouts[name].view(torch.bfloat16) for name in ("bf16_w", "bf16_w_shuf16"))
    assert_same_bits(shuffle_16x16(logical), shuffled)
    assert_same_bits(unshuffle_16x16(shuffled), logical)


@pytest.mark.parametrize("gate_up", [False, True])
@pytest.mark.parametrize("case", ["E2N64K256", "E2N128K512"])
def test_weights_and_scales_in_a16w4(case, gate_up, layouts, assert_same_bits):
    weight, scale = layouts[f"{case}_w"], layouts[f"{case}_s"]
    weight_a16w4 = layouts[f"{case}_w_a16w4_gu{int(gate_up)}"]
    scale_a16w4 = layouts[f"{case}_s_a16w4_gu{int(gate_up)}"]
    assert_same_bits(shuffle_a16w4(weight, gate_up), weight_a16w4)
    assert_same_bits(unshuffle_a16w4(weight_a16w4, gate_up), weight)
    assert_same_bits(shuffle_scale_a16w4(scale, EXPERTS, gate_up), scale_a16w4)
    assert_same_bits(unshuffle_scale_a16w4(scale_a16w4, EXPERTS, gate_up), scale)


@pytest.mark.parametrize("case", ["E2N64K256", "E2N128K512"])
def test_scales_of_e8m0_shuffle(case, layouts, assert_same_bits):
    """Pads in the vector are leftover memory: they are masked one way and cut off the other way."""
    logical, shuffled = layouts[f"{case}_s"], layouts[f"{case}_s_e8m0shuf"]
    rows, columns = logical.shape
    assert_same_bits(unshuffle_scale_e8m0(shuffled, rows, columns), logical)
    live = shuffle_scale_e8m0(torch.zeros_like(logical)) == 0
    assert live.sum() == logical.numel()
    assert torch.equal(shuffle_scale_e8m0(logical)[live], shuffled[live])


@pytest.mark.parametrize(("name", "gate_up"), [("w1", True), ("w2", False)])
def test_moe_weights_of_gate_mode_interleave(name, gate_up, interleaved, assert_same_bits):
    weight, shuffled = interleaved[f"{name}_u8"], interleaved[f"{name}_shuf_u8"]
    scale, scale_shuffled = interleaved[f"{name}_scale_u8"], interleaved[f"{name}_scale_shuf_u8"]
    experts = len(weight)
    assert_same_bits(shuffle_a16w4(weight, gate_up), shuffled)
    assert_same_bits(unshuffle_a16w4(shuffled, gate_up), weight)
    assert_same_bits(shuffle_scale_a16w4(scale, experts, gate_up), scale_shuffled)
    assert_same_bits(unshuffle_scale_a16w4(scale_shuffled, experts, gate_up), scale)
