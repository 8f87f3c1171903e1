"""Vectors that AITER's own references gave: v0.1.20.post1 on a CPU, and its Triton kernel in Triton's interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

DATA = Path(__file__).parents[1] / "data" / "companions"
_files: dict[str, Mapping[str, Mapping[str, np.ndarray]]] = {}


def read_vectors(file: str) -> Mapping[str, Mapping[str, np.ndarray]]:
    """Case -> array name -> array."""
    if file not in _files:
        cases: dict[str, dict[str, np.ndarray]] = {}
        with np.load(DATA / f"{file}.npz") as archive:
            for key in archive.files:
                case, _, name = key.rpartition("/")
                cases.setdefault(case, {})[name] = archive[key]
        _files[file] = cases
    return _files[file]


def stored_bytes(tensor: torch.Tensor) -> np.ndarray:
    """The tensor as the vectors keep it: fp8 and fp4 as uint8, bf16 as int16."""
    if tensor.element_size() == 1 and tensor.dtype != torch.int8:
        tensor = tensor.view(torch.uint8)
    elif tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.contiguous().numpy()


@pytest.fixture(scope="session")
def vectors() -> Callable[[str], Mapping[str, Mapping[str, np.ndarray]]]:
    return read_vectors


@pytest.fixture(scope="session")
def same() -> Callable[[torch.Tensor, np.ndarray], bool]:
    """Whether a tensor has the shape, dtype and bits of an array."""

    def compare(tensor: torch.Tensor, array: np.ndarray) -> bool:
        found = stored_bytes(tensor)
        return (
            found.shape == array.shape
            and found.dtype == array.dtype
            and np.array_equal(found.view(np.uint8), np.ascontiguousarray(array).view(np.uint8))
        )

    return compare
