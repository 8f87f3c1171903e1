"""What the copy engine is told puts neighbouring rows where one thread has both."""

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", exc_type=ImportError)

from aiter_compat.backends.emulation.triton_path.boxes import boxes, feature_boxes, paired_boxes


def test_of_sixteen_rows_the_even_ones_come_first():
    matrix = torch.arange(48 * 256, dtype=torch.int32).to(torch.uint8).view(48, 256)
    matrix[:, 0] = torch.arange(48)  # tells the rows apart
    told = paired_boxes(matrix, 32, 128)
    assert told.block_shape == [2, 2, 8, 128]
    fetched = matrix.as_strided(told.shape, told.strides).reshape(48, 256)
    rows = [first + row for first in (0, 16, 32) for row in (*range(0, 16, 2), *range(1, 16, 2))]
    assert fetched[:, 0].tolist() == rows
    assert torch.equal(fetched, matrix[rows])


def test_features_are_stored_in_rows_that_the_engine_swizzles():
    matrix = torch.arange(6 * 96, dtype=torch.float32).view(6, 96)
    told = feature_boxes(matrix, 4, 64)
    assert told.block_shape == [2, 4, 32]
    assert told.layout.swizzle_byte_width == 128
    stored = matrix.as_strided(told.shape, told.strides)
    for part in range(3):
        assert torch.equal(stored[part], matrix[:, 32 * part : 32 * part + 32])


@pytest.mark.parametrize(("columns", "swizzled"), [(16, 0), (64, 64), (128, 128)])
def test_scales_lie_one_row_after_the_other_and_operands_swizzled(columns, swizzled):
    told = boxes(torch.zeros(64, 256, dtype=torch.uint8), 32, columns)
    assert told.layout.swizzle_byte_width == swizzled
