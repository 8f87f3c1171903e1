"""The emulation returns what AITER's own Python reference returned, for every golden vector."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from aiter_compat.backends.emulation import run, run_reference
from aiter_compat.backends.emulation.activation_qdq import second_operand
from aiter_compat.backends.emulation.first_operand import first_operand
from aiter_compat.formats import Quantized, dequantize

BOUND = 1e-4


def test_the_unrounded_result_is_the_references(golden_case, relative_error):
    assert relative_error(run(golden_case.request), golden_case.out_f32) <= BOUND


def test_the_plain_path_gives_the_same(golden_case, relative_error):
    assert relative_error(run_reference(golden_case.request), golden_case.out_f32) <= BOUND


def test_the_rounded_result_is_at_most_one_bfloat16_step_away(golden_case):
    rounded = run(replace(golden_case.request, out_dtype=torch.bfloat16))
    steps = _ordered(rounded) - _ordered(golden_case.out_bf16)
    assert int(steps.abs().max()) <= 1


def test_both_activation_roundings_give_the_references_codes(golden_codes):
    arrays, request = golden_codes.arrays, golden_codes.request
    tokens = request.hidden_states.shape[0]
    assert torch.equal(first_operand(request, tokens), _values(arrays, "a1", request.qdq_first))
    stage1 = arrays.get("stage1_f32")
    if stage1 is None:
        stage1 = (arrays["stage1_bf16"].astype(np.uint32) << 16).view(np.float32)
    rounded = second_operand(torch.from_numpy(stage1), request)
    assert torch.equal(rounded, _values(arrays, "a2", request.qdq_second).view(rounded.shape))


def test_every_case_is_here_but_the_illustrations(manifest):
    here = {path.name for path in (Path(__file__).parents[2] / "data" / "golden").glob("moe_*.npz")}
    missing = {name for name in manifest if name.startswith("moe_")} - here
    assert all("padgarbage" in name or "limit0_v020" in name for name in missing)


def _values(arrays: dict[str, np.ndarray], operand: str, name: str) -> torch.Tensor:
    """What the reference's codes of an operand stand for; fp8_cast has a scale of 1 and keeps none."""
    codes = torch.from_numpy(arrays[f"{operand}_u8"])
    scales = arrays.get(f"{operand}_scale", arrays.get(f"{operand}_scale_u8"))
    return dequantize(Quantized(codes, torch.ones(1) if name == "fp8_cast" else torch.from_numpy(scales), name))


def _ordered(values: torch.Tensor) -> torch.Tensor:
    """Integers that count bfloat16 numbers in order, zero at zero."""
    bits = values.view(torch.int16).int()
    return torch.where(bits < 0, -(bits & 0x7FFF), bits)
