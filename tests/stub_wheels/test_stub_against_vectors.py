"""Stubs compute what AITER's own Python reference computes, and store weights as its shuffles do."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
MANIFEST = json.loads((GOLDEN / "manifest.json").read_text(encoding="utf-8"))["files"]
RELEASE = "0.1.15.post3"


def cases() -> list[str]:
    """Cases of the release without activation QDQ, which a stub leaves out; their interleaved weights too."""
    return sorted(
        name
        for name, entry in MANIFEST.items()
        if entry.get("kind") == "moe case"
        and entry["tag"] == f"v{RELEASE}"
        and entry["padfill"] != "garbage everywhere"  # states its live sizes only
        and (entry["quant"] == "No" or entry["act_qdq"] == "bf16")
        and (GOLDEN / name).exists()
        and (GOLDEN / entry["weights"]).exists()
    )


def load(name: str) -> dict[str, torch.Tensor]:
    """Arrays by name, bf16 patterns turned into bf16."""
    with np.load(GOLDEN / name) as arrays:
        tensors = {key: torch.from_numpy(arrays[key].copy()) for key in arrays.files}
    return {
        key: tensor.view(torch.int16).view(torch.bfloat16) if key.endswith("_bf16") else tensor
        for key, tensor in tensors.items()
    }


def pick(tensors, *names):
    return next(tensors[name] for name in names if name in tensors)


def test_there_are_cases():
    entries = [MANIFEST[name] for name in cases()]
    assert {entry["activation"] for entry in entries} == {"Silu", "Gelu", "Swiglu"}
    assert {entry["quant"] for entry in entries} == {"No", "per_1x32"}


@pytest.mark.parametrize("name", cases())
def test_output_is_the_reference_rounded(aiter_stub, name):
    aiter_stub(RELEASE)
    package = importlib.import_module("aiter")
    fused_moe = importlib.import_module("aiter.fused_moe").fused_moe
    entry, case, weights = MANIFEST[name], load(name), load(MANIFEST[name]["weights"])
    interleaved = entry["gate_mode"] == "INTERLEAVE"
    infix = "_shuf" if interleaved else ""
    quantised = entry["quant"] == "per_1x32"
    out = fused_moe(
        case["hidden_bf16"],
        pick(weights, f"w1{infix}_u8", "w1_bf16"),
        pick(weights, f"w2{infix}_u8", "w2_bf16"),
        case["topk_weights"],
        case["topk_ids"],
        expert_mask=case.get("expert_mask"),
        activation=getattr(package.ActivationType, entry["activation"]),
        quant_type=getattr(package.QuantType, entry["quant"]),
        doweight_stage1=bool(entry["doweight_stage1"]),
        w1_scale=weights[f"w1_scale{infix}_u8"] if quantised else None,
        w2_scale=weights[f"w2_scale{infix}_u8"] if quantised else None,
        hidden_pad=entry["hidden_pad"],
        intermediate_pad=entry["intermediate_pad"],
        bias1=weights["b1"] if entry["bias"] else None,
        bias2=weights["b2"] if entry["bias"] else None,
        swiglu_limit=entry["swiglu_limit"],
        gate_mode=entry["gate_mode"].lower(),
    )
    live = entry["hidden"] - entry["hidden_pad"]  # bias2 makes the reference's pad columns non-zero
    out, expected = out[:, :live].float(), case["out_f32"][:, :live]
    assert (out - expected).norm() / expected.norm() < 6e-3  # the reference rounds to bf16 between the GEMMs


@pytest.mark.parametrize("size", ["E2N64K256", "E2N128K512"])
def test_shuffles_are_aiters(aiter_stub, size):
    aiter_stub(RELEASE)
    shuffle = importlib.import_module("aiter.ops.shuffle")
    e8m0_shuffle = importlib.import_module("aiter.utility.fp4_utils").e8m0_shuffle
    layouts = importlib.import_module("aiter.stub_runtime.memory_layouts")
    arrays = load("layouts.npz")
    weight, scales = arrays[f"{size}_w"], arrays[f"{size}_s"]
    assert torch.equal(shuffle.shuffle_weight(weight), arrays[f"{size}_w_shuf16"])
    for gate_up in (False, True):
        suffix = f"a16w4_gu{int(gate_up)}"
        stored = shuffle.shuffle_weight_a16w4(weight, 16, gate_up)
        assert torch.equal(stored, arrays[f"{size}_w_{suffix}"])
        assert torch.equal(layouts.unshuffle_a16w4(stored, gate_up), weight)
        assert torch.equal(shuffle.shuffle_scale_a16w4(scales, 2, gate_up), arrays[f"{size}_s_{suffix}"])
    recovered = layouts.unshuffle_scale_16x16(arrays[f"{size}_s_e8m0shuf"], *scales.shape)
    assert torch.equal(recovered, scales)  # AITER leaves the pads unwritten: compared through the inverse
    assert torch.equal(layouts.unshuffle_scale_16x16(e8m0_shuffle(scales), *scales.shape), scales)


def test_shuffles_of_odd_and_bf16_weights_are_aiters(aiter_stub):
    aiter_stub(RELEASE)
    shuffle_weight = importlib.import_module("aiter.ops.shuffle").shuffle_weight
    arrays = load("layouts.npz")
    for name in ("odd_w", "bf16_w"):
        weight = arrays[name].view(torch.bfloat16) if name == "bf16_w" else arrays[name]
        expected = arrays[f"{name}_shuf16"]
        shuffled = shuffle_weight(weight)
        assert shuffled.is_shuffled
        assert torch.equal(shuffled.view(expected.dtype), expected)
