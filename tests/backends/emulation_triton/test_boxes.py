"""What the copy engine is told puts neighbouring rows where one thread has both."""

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", exc_type=ImportError)

from aiter_compat.backends.emulation.triton_path.boxes import paired_boxes


def test_of_sixteen_rows_the_even_ones_come_first():
    matrix = torch.arange(48 * 256, dtype=torch.int32).to(torch.uint8).view(48, 256)
    matrix[:, 0] = torch.arange(48)  # tells the rows apart
    told = paired_boxes(matrix, 32, 128)
    assert told.block_shape == [2, 2, 8, 128]
    fetched = matrix.as_strided(told.shape, told.strides).reshape(48, 256)
    rows = [first + row for first in (0, 16, 32) for row in (*range(0, 16, 2), *range(1, 16, 2))]
    assert fetched[:, 0].tolist() == rows
    assert torch.equal(fetched, matrix[rows])
