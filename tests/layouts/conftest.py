"""Tensors of every dtype that a layout must carry, and comparison of their bytes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

_DTYPE_NAMES = (
    "uint8",
    "int8",
    "float4_e2m1fn_x2",
    "float8_e8m0fnu",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "bfloat16",
    "float16",
    "float32",
)
_DTYPES = {name: getattr(torch, name) for name in _DTYPE_NAMES if hasattr(torch, name)}
_ONE_BYTE = {name: dtype for name, dtype in _DTYPES.items() if dtype.itemsize == 1}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `dtype` with each weight dtype, `scale_dtype` with each scale dtype."""
    if "dtype" in metafunc.fixturenames:
        metafunc.parametrize("dtype", list(_DTYPES.values()), ids=list(_DTYPES))
    if "scale_dtype" in metafunc.fixturenames:
        scales = {name: _ONE_BYTE[name] for name in ("uint8", "float8_e8m0fnu") if name in _ONE_BYTE}
        metafunc.parametrize("scale_dtype", list(scales.values()), ids=list(scales))


@pytest.fixture(scope="session")
def random_bits() -> Callable[..., Tensor]:
    """`random_bits(shape, dtype=uint8, seed=0)`: every bit pattern, NaN payloads included."""

    def make(shape: tuple[int, ...], dtype: torch.dtype = torch.uint8, seed: int = 0) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        size = (*shape[:-1], shape[-1] * dtype.itemsize)
        return torch.randint(0, 256, size, dtype=torch.uint8, generator=generator).view(dtype)

    return make


@pytest.fixture(scope="session")
def assert_same_bits() -> Callable[[Tensor, Tensor], None]:
    """Same shape, dtype and bytes; torch.equal would call NaN unequal and lacks fp8 and fp4."""

    def check(actual: Tensor, expected: Tensor) -> None:
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        assert actual.is_contiguous()
        bits = [tensor.contiguous().view(torch.uint8) for tensor in (actual, expected)]
        assert torch.equal(*bits)

    return check


@pytest.fixture(scope="session")
def moved() -> Callable[..., Tensor]:
    """`moved(matrix, destination)`: [N, K] bytes written one by one to `destination(n, k)`.

    Fails unless the destinations are each cell of the result exactly once.
    """

    def move(matrix: Tensor, destination: Callable[[int, int], int]) -> Tensor:
        rows, columns = matrix.shape
        cells: list[int | float | None] = [None] * (rows * columns)
        for n, row in enumerate(matrix.tolist()):
            for k, value in enumerate(row):
                assert cells[destination(n, k)] is None
                cells[destination(n, k)] = value
        return torch.tensor(cells, dtype=matrix.dtype).view(rows, columns)

    return move
