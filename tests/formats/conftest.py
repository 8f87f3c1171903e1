"""Golden vectors of AITER's own Python reference, as tensors."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

DATA = Path(__file__).parents[1] / "data" / "golden"


class GoldenVectors:
    """One npz file: the input x, and the recorded arrays."""

    def __init__(self, name: str) -> None:
        arrays = np.load(DATA / f"{name}.npz")
        self.arrays = {key: arrays[key] for key in arrays.files}
        self.labels = json.loads((DATA / "manifest.json").read_text())["files"][f"{name}.npz"]["row_labels"]
        if "x_bf16" in self.arrays:
            self.x = torch.from_numpy(self.arrays["x_bf16"]).view(torch.bfloat16)
        else:
            self.x = torch.from_numpy(self.arrays["x_f32" if "x_f32" in self.arrays else "x_f16"])
        self.finite_rows = int(self.arrays.get("first_nonfinite_row", len(self.x)))

    def __getitem__(self, key: str) -> torch.Tensor:
        return torch.from_numpy(self.arrays[key])

    def differing_rows(self, ours: torch.Tensor, key: str) -> list[str]:
        """Labels of the finite rows that are not equal bit for bit."""
        theirs = self[key].reshape(ours.shape)
        assert ours.dtype == theirs.dtype
        as_bits = {torch.float32: torch.int32}.get(ours.dtype, torch.uint8)
        same = (ours.view(as_bits) == theirs.view(as_bits)).flatten(1).all(1)[: self.finite_rows]
        return [label for label, equal in zip(self.labels, same.tolist(), strict=False) if not equal]


@pytest.fixture(scope="session")
def golden() -> Callable[[str], GoldenVectors]:
    return GoldenVectors


@pytest.fixture(autouse=True)
def _one_thread():
    """Two tests never fight for cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
