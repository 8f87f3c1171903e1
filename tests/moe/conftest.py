"""Seeded layers whose true values are known, and a dense reference that shares no code with aiter_compat."""

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

_ORACLE = Path(__file__).resolve().parents[1] / "backends" / "emulation" / "dense_oracle.py"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle = _load(_ORACLE)


@dataclass(frozen=True)
class Layer:
    """One call of `fused_moe` and the values that its tensors stand for.

    Attributes:
        call: keyword arguments.
        w1, w2: weights as fp64 values, rows [gate; up].
        gated: whether w1 has an up half.
    """

    call: dict[str, Any]
    w1: np.ndarray
    w2: np.ndarray
    gated: bool = True
    biases: dict[str, torch.Tensor] = field(default_factory=dict)

    def dense(self, ids: torch.Tensor | None = None, **options: Any) -> torch.Tensor:
        """[M, H] by the oracle; `options` are those of `dense_oracle.dense_moe`."""
        ids = self.call["topk_ids"] if ids is None else ids
        result = oracle.dense_moe(
            self.call["hidden_states"].double().numpy(),
            self.w1,
            self.w2,
            self.call["topk_weight"].double().numpy(),
            ids.long().numpy(),
            gated=self.gated,
            **options,
        )
        return torch.from_numpy(result)

    def without(self, *names: str) -> dict[str, Any]:
        """The call without these arguments."""
        return {name: value for name, value in self.call.items() if name not in names}


def make_layer(
    weights: str = "mxfp4",
    *,
    tokens: int = 5,
    experts: int = 4,
    top_k: int = 2,
    hidden: int = 64,
    intermediate: int = 32,
    gated: bool = True,
    seed: int = 0,
) -> Layer:
    """A layer of "mxfp4", "bf16" or "fp16" weights."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"w1": (experts, intermediate * (2 if gated else 1), hidden), "w2": (experts, hidden, intermediate)}
    chosen, ids = torch.rand(tokens, experts, generator=generator).topk(top_k)
    dtype = torch.float16 if weights == "fp16" else torch.bfloat16
    call: dict[str, Any] = {
        "hidden_states": torch.randn(tokens, hidden, generator=generator).to(dtype),
        "topk_weight": chosen,
        "topk_ids": ids.to(torch.int32),
    }
    values = {}
    for name, shape in shapes.items():
        if weights == "mxfp4":
            packed = torch.randint(0, 256, (*shape[:2], shape[2] // 2), generator=generator, dtype=torch.uint8)
            scale = torch.randint(123, 126, (*shape[:2], shape[2] // 32), generator=generator, dtype=torch.uint8)
            call |= {name: packed, f"{name}_scale": scale, "quant_type": "per_1x32"}
            values[name] = oracle.unpack_mxfp4(packed.numpy(), scale.numpy())
        else:
            call[name] = torch.randn(shape, generator=generator).mul(0.3).to(dtype)
            values[name] = call[name].double().numpy()
    biases = {
        "bias1": torch.randn(shapes["w1"][:2], generator=generator),
        "bias2": torch.randn(shapes["w2"][:2], generator=generator),
    }
    return Layer(call, values["w1"], values["w2"], gated, biases)


def distance(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative L2 distance."""
    return float((actual.double() - expected.double()).norm() / expected.double().norm())


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors: more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(name="make_layer")
def make_layer_fixture():
    return make_layer


@pytest.fixture(name="distance")
def distance_fixture():
    return distance


@pytest.fixture(name="oracle")
def oracle_fixture():
    return oracle


@pytest.fixture
def usable_on_cpu(monkeypatch):
    """AITER runs on this machine's CPU, as far as `backend="auto"` can tell."""
    monkeypatch.setattr("aiter_compat.moe.decide.device_refusal", lambda device, quant_type: None)
