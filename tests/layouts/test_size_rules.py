"""`layout_requirements` tells a host, before any work, which sizes a layout takes."""

import pytest
import torch

from aiter_compat.errors import InvalidArgument
from aiter_compat.layouts import (
    layout_requirements,
    shuffle_16x16,
    shuffle_a16w4,
    shuffle_scale_a16w4,
    shuffle_scale_e8m0,
)

SHUFFLES = {
    "shuffle_16x16": shuffle_16x16,
    "a16w4": lambda weight: shuffle_a16w4(weight, False),
    "a16w4_gate_up": lambda weight: shuffle_a16w4(weight, True),
    "scale_e8m0": shuffle_scale_e8m0,
    "scale_a16w4": lambda scale: shuffle_scale_a16w4(scale, 1, False),
    "scale_a16w4_gate_up": lambda scale: shuffle_scale_a16w4(scale, 1, True),
}


@pytest.mark.parametrize("layout", SHUFFLES)
def test_allows_exactly_what_the_shuffle_takes(layout):
    requirements = layout_requirements(layout)
    for rows in range(8, 73, 8):
        for columns in range(4, 133, 4):
            tensor = torch.zeros((rows, columns), dtype=torch.uint8)
            if requirements.allows(rows, columns):
                result = SHUFFLES[layout](tensor)
                assert tuple(result.shape) == requirements.padded_size(rows, columns)
            else:
                with pytest.raises(InvalidArgument):
                    SHUFFLES[layout](tensor)


@pytest.mark.parametrize(
    ("layout", "size", "padded"),
    [
        ("shuffle_16x16", (17, 33), (32, 64)),
        ("a16w4", (17, 65), (32, 128)),
        ("a16w4_gate_up", (33, 64), (64, 64)),
        ("scale_e8m0", (1, 1), (256, 8)),
        ("scale_a16w4", (16, 12), (32, 16)),
        ("scale_a16w4_gate_up", (32, 8), (32, 8)),
    ],
)
def test_padded_size_is_the_next_whole_tile(layout, size, padded):
    assert layout_requirements(layout).padded_size(*size) == padded


@pytest.mark.parametrize("layout", ["SHUFFLE", None, ["a16w4"]])
def test_unknown_layout_lists_the_known_ones(layout):
    with pytest.raises(InvalidArgument, match=r"layout: got .* allowed: shuffle_16x16, a16w4, a16w4_gate_up"):
        layout_requirements(layout)
