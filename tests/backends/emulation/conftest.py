"""Requests made from golden vectors and from seeds, and an independent oracle. Test modules get them as fixtures."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from aiter_compat.formats import quantize
from aiter_compat.profiles import profile

GOLDEN = Path(__file__).parents[2] / "data" / "golden"

# What the manifest calls the activation format of a case; with "n/a" the quant type decides.
_ACT_QDQ = {"bf16": "none", "mxfp4": "mxfp4", "mxfp8": "mxfp8", "fp8unit": "fp8_cast"}
_QDQ_OF_QUANT_TYPE = {
    "No": "none",
    "per_Token": "fp8_token",
    "per_Tensor": "fp8_tensor",
    "per_128x128": "fp8_1x128",
}
_WEIGHT_FORMAT = {"No": "unquantised", "per_1x32": "mxfp4"}


@dataclass(frozen=True)
class GoldenCase:
    """A fused MoE case: the request, and what AITER's own Python reference computed."""

    request: EmulationRequest
    arrays: dict[str, np.ndarray]
    entry: dict[str, Any]

    @property
    def out_f32(self) -> torch.Tensor:
        return torch.from_numpy(self.arrays["out_f32"])

    @property
    def out_bf16(self) -> torch.Tensor:
        return from_bf16_bits(self.arrays["out_bf16"])


@dataclass(frozen=True)
class Layer:
    """A seeded MXFP4 layer as a request, and its values in fp64 for the oracle."""

    request: EmulationRequest
    w1: np.ndarray
    w2: np.ndarray

    def oracle_inputs(self) -> dict[str, Any]:
        """Arguments of `dense_oracle.dense_moe` that describe the same layer."""
        request = self.request
        return {
            "x": request.hidden_states.double().numpy(),
            "w1": self.w1,
            "w2": self.w2,
            "weights": request.topk_weight.double().numpy(),
            "ids": request.topk_ids.numpy(),
            "activation": request.activation.name,
            "gated": request.activation.gated,
            "limit": request.activation.limit,
            "bias1": None if request.bias1 is None else request.bias1.double().numpy(),
            "bias2": None if request.bias2 is None else request.bias2.double().numpy(),
            "qdq": request.qdq_first,
            "doweight_stage1": request.doweight_stage1,
        }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of a golden case runs once for every one copied here, or that keeps intermediate codes."""
    if "golden_name" in metafunc.fixturenames:
        names = sorted(path.stem for path in GOLDEN.glob("moe_*.npz"))
        if "golden_codes" in metafunc.fixturenames:
            names = [name for name in names if "a1_u8" in _read_manifest()[f"{name}.npz"]["arrays"]]
        metafunc.parametrize("golden_name", names)


@pytest.fixture(scope="session")
def manifest() -> dict[str, dict[str, Any]]:
    return _read_manifest()


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dense_oracle", Path(__file__).with_name("dense_oracle.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def golden_case(golden_name: str, load_golden: Callable[[str], GoldenCase]) -> GoldenCase:
    return load_golden(golden_name)


@pytest.fixture
def golden_codes(golden_case: GoldenCase) -> GoldenCase:
    """A case that keeps the codes of both activation roundings."""
    return golden_case


@pytest.fixture(scope="session")
def load_golden(manifest: dict[str, dict[str, Any]]) -> Callable[[str], GoldenCase]:
    return cache(lambda name: _read_golden(name, manifest[f"{name}.npz"]))


@pytest.fixture
def make_layer(oracle: ModuleType) -> Callable[..., Layer]:
    """Factory of seeded layers: `make_layer(seed=1, tokens=3, activation=ActivationSpec("gelu"), ...)`."""

    def make(
        seed: int = 0,
        *,
        tokens: int = 5,
        experts: int = 4,
        top_k: int = 2,
        hidden: int = 64,
        intermediate: int = 96,
        activation: ActivationSpec | None = None,
        bias: bool = True,
        **fields: Any,
    ) -> Layer:
        generator = torch.Generator().manual_seed(seed)

        def normal(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator)

        activation = activation or ActivationSpec("swiglu", limit=7.0)
        rows = intermediate * (2 if activation.gated else 1)
        w1 = quantize(normal(experts, rows, hidden) / hidden**0.5, "mxfp4")
        w2 = quantize(normal(experts, hidden, intermediate) / intermediate**0.5, "mxfp4")
        ids = torch.stack([torch.randperm(experts, generator=generator)[:top_k] for _ in range(tokens)])
        given: dict[str, Any] = {
            "hidden_states": normal(tokens, hidden).bfloat16(),
            "w1": w1.codes,
            "w2": w2.codes,
            "w1_scale": w1.scales,
            "w2_scale": w2.scales,
            "topk_ids": ids.int().reshape(tokens, top_k),
            "topk_weight": torch.rand(tokens, top_k, generator=generator) + 0.1,
            "activation": activation,
            "quant_type": "per_1x32",
            "weight_format": "mxfp4",
            "bias1": normal(experts, rows) if bias else None,
            "bias2": normal(experts, hidden) if bias else None,
            "qdq_first": "mxfp4",
            "qdq_second": "mxfp4",
            "profile": profile("aiter-0.1.15"),
            "out_dtype": torch.float32,
        }
        return Layer(
            EmulationRequest(**(given | fields)),
            oracle.unpack_mxfp4(w1.codes.numpy(), w1.scales.numpy()),
            oracle.unpack_mxfp4(w2.codes.numpy(), w2.scales.numpy()),
        )

    return make


@pytest.fixture
def relative_error() -> Callable[[Any, Any], float]:
    """Relative L2 distance of the first argument from the second."""

    def distance(computed: Any, expected: Any) -> float:
        computed, expected = (torch.as_tensor(value).double() for value in (computed, expected))
        return float((computed - expected).norm() / expected.norm())

    return distance


def from_bf16_bits(bits: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16)


@cache
def _read_manifest() -> dict[str, dict[str, Any]]:
    files: dict[str, dict[str, Any]] = json.loads((GOLDEN / "manifest.json").read_text())["files"]
    return files


@cache
def _read_weights(name: str) -> dict[str, np.ndarray]:
    return dict(np.load(GOLDEN / name))


def _read_golden(name: str, entry: dict[str, Any]) -> GoldenCase:
    """Read one case, and translate the manifest's terms and AITER's meaning of a limit to a request."""
    arrays = dict(np.load(GOLDEN / f"{name}.npz"))
    weights = _read_weights(entry["weights"])
    quant = entry["quant"]
    suffix = "_shuf_u8" if entry["gate_mode"] == "INTERLEAVE" else "_u8"

    def matrix(argument: str) -> torch.Tensor:
        if quant == "No":
            return from_bf16_bits(weights[f"{argument}_bf16"])
        codes = torch.from_numpy(weights[f"{argument}{suffix}"])
        return codes if quant == "per_1x32" else codes.view(torch.float8_e4m3fn)

    def scale(argument: str) -> torch.Tensor | None:
        if quant == "No":
            return None
        return torch.from_numpy(weights[f"{argument}_scale{suffix if quant == 'per_1x32' else ''}"])

    activation = entry["activation"].lower()
    limit = entry["swiglu_limit"] or (7.0 if activation == "swiglu" else None)
    act_qdq = _ACT_QDQ[entry["act_qdq"]] if quant == "per_1x32" else _QDQ_OF_QUANT_TYPE[quant]
    overrides = {"second_qdq_from": "fp32"} if entry["fused_act_quant"] else {}
    mask = arrays.get("expert_mask")
    request = EmulationRequest(
        hidden_states=from_bf16_bits(arrays["hidden_bf16"]),
        w1=matrix("w1"),
        w2=matrix("w2"),
        w1_scale=scale("w1"),
        w2_scale=scale("w2"),
        topk_weight=torch.from_numpy(arrays["topk_weights"]),
        topk_ids=torch.from_numpy(arrays["topk_ids"]),
        expert_mask=None if mask is None else torch.from_numpy(mask),
        activation=ActivationSpec(activation, limit=limit),
        quant_type=quant.lower(),
        weight_format=_WEIGHT_FORMAT.get(quant, "fp8"),
        bias1=torch.from_numpy(weights["b1"]) if entry["bias"] else None,
        bias2=torch.from_numpy(weights["b2"]) if entry["bias"] else None,
        doweight_stage1=bool(entry["doweight_stage1"]),
        qdq_first=act_qdq,
        qdq_second=act_qdq,
        profile=profile("aiter-" + entry["tag"].removeprefix("v"), **overrides),
        weight_layout="a16w4" if entry["gate_mode"] == "INTERLEAVE" else "logical",
        out_dtype=torch.float32,
    )
    return GoldenCase(request, arrays, entry)
