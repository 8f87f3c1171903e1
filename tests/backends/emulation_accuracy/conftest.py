"""The three paths of the emulation, each with what it passed to its second product."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from aiter_compat.backends.emulation import (
    ActivationSpec,
    EmulationRequest,
    run,
    run_compiled,
    run_reference,
    torch_grouped,
    torch_reference,
)
from aiter_compat.backends.emulation.compiled import layer_execution, layer_plan
from aiter_compat.backends.emulation.compiled.layer_call import CALL_NUMBERS, PLAN_NUMBERS, LayerCall
from aiter_compat.profiles import profile

PATHS = {"plain": run_reference, "torch": run, "compiled": run_compiled}


@dataclass
class Path_:
    """A path under test."""

    name: str
    run: Callable[[EmulationRequest], torch.Tensor]
    recorded: list[Any]

    def second_operand(self, slots: torch.Tensor) -> torch.Tensor:
        """[S, I] fp32 that the latest call's second product read, for slots in the order of their experts."""
        (latest,) = self.recorded[-1:]
        if self.name == "plain":
            return latest.reshape(-1, latest.shape[-1])[slots]
        return latest if self.name == "torch" else _rows_of_the_kernel(latest, slots.numel())


def _rows_of_the_kernel(call: Any, slots: int) -> torch.Tensor:
    """Values of the integers, or the floats, that the first stage left in the scratch of a compiled call."""
    of_call = CALL_NUMBERS.unpack(ctypes.string_at(call.memory.numbers, CALL_NUMBERS.size))
    numbers = LayerCall(*of_call, *PLAN_NUMBERS.unpack_from(call.plan.numbers))
    size = layer_plan.row_bytes(numbers.intermediate, "none" if numbers.rounding2 else "mxfp4")
    rows = torch.frombuffer(bytearray(ctypes.string_at(numbers.rows2, slots * size)), dtype=torch.uint8)
    rows = rows.view(slots, size)
    if numbers.rounding2 != layer_plan.ROUNDINGS["mxfp4"]:
        return rows.reshape(-1).view(torch.float32).view(slots, -1)
    blocks = numbers.intermediate // 32
    turned = rows[:, : 32 * blocks].view(torch.int8).float().view(slots, blocks, 2, 16)
    scales = rows[:, 32 * blocks : 36 * blocks].contiguous().view(torch.float32)
    return (turned.transpose(2, 3).flatten(2) * scales.unsqueeze(2) * 2).flatten(1)


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path_:
    """Each path in turn; the compiled one where numba is installed."""
    recorded: list[Any] = []
    name = request.param
    if name == "compiled":
        pytest.importorskip("numba", exc_type=ImportError)
        prepare = layer_execution._PreparedCall

        def prepared(*arguments: Any) -> Any:
            recorded.append(prepare(*arguments))
            return recorded[-1]

        monkeypatch.setattr(layer_execution, "_PreparedCall", prepared)
        return Path_(name, run_compiled, recorded)
    module = torch_grouped if name == "torch" else torch_reference
    original = module.second_operand

    def second_operand(*arguments: Any) -> torch.Tensor:
        recorded.append(original(*arguments))
        return recorded[-1]

    monkeypatch.setattr(module, "second_operand", second_operand)
    return Path_(name, PATHS[name], recorded)


@pytest.fixture(scope="session")
def fp64() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fp64_layer", Path(__file__).with_name("fp64_layer.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def layer() -> Callable[..., EmulationRequest]:
    """Factory of seeded MXFP4 layers over random codes, in sizes that fill no tile."""

    def make(
        tokens: int = 7,
        *,
        experts: int = 6,
        choices: int = 3,
        hidden: int = 96,
        intermediate: int = 160,
        activation: ActivationSpec | None = None,
        qdq: str = "mxfp4",
        bias: bool = True,
        **more: Any,
    ) -> EmulationRequest:
        random = torch.Generator().manual_seed(tokens + hidden)
        spec = activation or ActivationSpec("swiglu", limit=7.0)
        rows = intermediate * (2 if spec.gated else 1)

        def codes(*shape: int) -> torch.Tensor:
            return torch.randint(0, 256, shape, dtype=torch.uint8, generator=random)

        def scales(*shape: int) -> torch.Tensor:
            return torch.randint(120, 124, shape, dtype=torch.uint8, generator=random)

        weight, ids = torch.topk(torch.softmax(torch.rand(tokens, experts, generator=random) * 3, -1), choices)
        given: dict[str, Any] = {
            "hidden_states": torch.randn(tokens, hidden, generator=random).bfloat16(),
            "w1": codes(experts, rows, hidden // 2),
            "w2": codes(experts, hidden, intermediate // 2),
            "w1_scale": scales(experts, rows, hidden // 32),
            "w2_scale": scales(experts, hidden, intermediate // 32),
            "topk_weight": weight,
            "topk_ids": ids.int(),
            "activation": spec,
            "quant_type": "per_1x32",
            "weight_format": "mxfp4",
            "bias1": torch.randn(experts, rows, generator=random) if bias else None,
            "bias2": torch.randn(experts, hidden, generator=random) if bias else None,
            "qdq_first": qdq,
            "qdq_second": qdq,
            "profile": profile(),
            "out_dtype": torch.float32,
        }
        return EmulationRequest(**(given | more))

    return make


@pytest.fixture
def threads():
    """Sets torch's number of threads, and restores it."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
