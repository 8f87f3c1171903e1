"""Run the MoE modules of one host tree on a stub of one AITER release, and print the calls of fused_moe as JSON.

    python -m verification.host_calls TREE RELEASE

Each case stands for a kind of layer; its tensors have names, so that the calls of two trees can be compared. A case
that fails has its error in place of the calls. AITER's function and aiter_compat's are recorded apart.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import aiter_compat
from stub_wheels import build_wheel, variant
from verification.faked_modules import FakedHost

VLLM_OPS = "vllm._aiter_ops"
VLLM_LAYER = "vllm.model_executor.layers.fused_moe.experts.rocm_aiter_moe"
VLLM_MXFP8 = "vllm.model_executor.layers.fused_moe.experts.aiter_mxfp8_moe"
VLLM_ACTIVATION = "vllm.model_executor.layers.fused_moe.activation"
SGLANG_RUNNER = "sglang.srt.layers.moe.moe_runner.aiter"
REAL = {"vllm": (VLLM_OPS, VLLM_LAYER, VLLM_MXFP8, VLLM_ACTIVATION), "sglang": (SGLANG_RUNNER,)}

Case = tuple[str, Callable[[], object]]


class Tensors:
    """Tensors with names; asking twice for one name gives the same tensor."""

    def __init__(self) -> None:
        self._made: dict[str, torch.Tensor] = {}

    def __call__(self, name: str) -> torch.Tensor:
        """The tensor of that name."""
        if name not in self._made:
            dtype = {"topk_weights": torch.float32, "topk_ids": torch.int32}.get(name, torch.bfloat16)
            self._made[name] = torch.zeros(4, 256, dtype=dtype)
        return self._made[name]

    def name_of(self, value: torch.Tensor) -> str:
        """The name, or the shape of a tensor that the host made itself."""
        return next((name for name, made in self._made.items() if made is value), f"tensor{tuple(value.shape)}")


class Recorder:
    """Stands for a function and keeps what it is called with.

    Args:
        original: the function; its signature is kept, for hosts that read it.
        tensors: names of the tensors.
    """

    def __init__(self, original: Callable[..., Any], tensors: Tensors) -> None:
        functools.update_wrapper(self, original)
        self.__signature__ = inspect.signature(original)
        self._tensors = tensors
        self.calls: list[dict[str, object]] = []

    def __call__(self, *arguments: Any, **keywords: Any) -> torch.Tensor:
        """Keep the call, and return the hidden states."""
        passed = {name: self._text(value) for name, value in keywords.items()}
        self.calls.append({"positional": [self._text(value) for value in arguments], "keywords": passed})
        if self.__wrapped__.__module__.startswith("aiter_compat"):
            self.__signature__.bind(*arguments, **keywords)  # TypeError: our function would not take it
        return keywords["hidden_states"] if "hidden_states" in keywords else arguments[0]

    def _text(self, value: object) -> str:
        if isinstance(value, torch.Tensor):
            return self._tensors.name_of(value)
        if not isinstance(value, type) and hasattr(value, "name") and hasattr(value, "value"):
            return f"{type(value).__name__}.{value.name}"
        return repr(value)


def vllm_cases(tensors: Tensors) -> Iterator[Case]:
    """The custom operator's implementation by itself, then the layers that lead to it."""
    ops = importlib.import_module(VLLM_OPS)
    layer = importlib.import_module(VLLM_LAYER)
    mxfp8 = importlib.import_module(VLLM_MXFP8)
    activations = importlib.import_module(VLLM_ACTIVATION).MoEActivation
    torch.ops.vllm = SimpleNamespace(rocm_aiter_fused_moe=ops._rocm_aiter_fused_moe_impl)
    five = [tensors(name) for name in ("hidden_states", "w1", "w2", "topk_weights", "topk_ids")]
    scales = {name: tensors(name) for name in ("w1_scale", "w2_scale", "a1_scale", "a2_scale")}
    biases = {name: tensors(name) for name in ("bias1", "bias2")}
    shared = {name: tensors(name) for name in ("shared_w1", "shared_w2", "shared_w1_scale", "shared_w2_scale")}
    implementation = functools.partial(ops._rocm_aiter_fused_moe_impl, *five)
    yield "operator: plain", implementation
    yield (
        "operator: mxfp4, interleaved, biases, pads",
        functools.partial(
            implementation, tensors("mask"), 2, 3, **scales, **biases, hidden_pad=128, intermediate_pad=64,
            gate_mode="interleave", swiglu_limit=7.0, output_dtype=torch.bfloat16, moe_sorting_dispatch_policy=1,
        ),
    )  # fmt: skip
    yield "operator: SiTU", functools.partial(implementation, None, 3, 3, **scales, beta=4.0, linear_beta=25.0)
    yield "operator: shared expert", functools.partial(implementation, **shared, shared_expert_id=7)
    yield "operator: activation dtype", functools.partial(implementation, q_dtype_a=torch.float8_e4m3fn)

    quantised = {"w1_bias": tensors("bias1"), "w2_bias": tensors("bias2"), **scales}
    for activation in ("SILU", "SWIGLUOAI", "SWIGLUOAI_UNINTERLEAVE", "SITU"):
        for scheme in ("none", "w4a16", "w4a4", "fp8 blocks"):
            yield (
                f"layer: {activation}, {scheme}",
                functools.partial(
                    layer.rocm_aiter_fused_experts, *five, _vllm_config(), activations[activation],
                    quant_config=_vllm_scheme(scheme, quantised), expert_mask=tensors("mask"),
                ),
            )  # fmt: skip
    experts = object.__new__(mxfp8.AiterMxfp8Experts)
    experts.quant_config = SimpleNamespace(gemm1_clamp_limit=7.0)
    experts.w1_scale_val, experts.w2_scale_val = tensors("w1_scale"), tensors("w2_scale")
    for activation in ("SILU", "SWIGLUOAI_UNINTERLEAVE"):
        rest = [None] * 5  # scales, workspaces, token counts
        yield (
            f"mxfp8 layer: {activation}",
            functools.partial(
                experts.apply, tensors("output"), *five, activations[activation], 8, tensors("mask"), *rest, False
            ),
        )


def _vllm_config() -> SimpleNamespace:
    return SimpleNamespace(
        hidden_dim_unpadded=128,
        intermediate_size_per_partition=256,
        intermediate_size_per_partition_unpadded=192,
        intermediate_pad=None,
        tp_size=2,
        use_mxfp4_w4a4_dsv4=False,
        swiglu_limit=7.0,
        activation_situ_beta=4.0,
        activation_situ_linear_beta=25.0,
    )


def _vllm_scheme(name: str, tensors: dict[str, torch.Tensor]) -> SimpleNamespace:
    return SimpleNamespace(
        per_act_token_quant=False,
        per_out_ch_quant=False,
        use_fp8_w8a8=name == "fp8 blocks",
        use_mxfp4_w4a4=name == "w4a4",
        use_mxfp4_w4a16=name == "w4a16",
        block_shape=[128, 128] if name == "fp8 blocks" else None,
        **tensors,
    )


def sglang_cases(tensors: Tensors) -> Iterator[Case]:
    """AITER's runner, as the quantisation methods feed it."""
    runner = importlib.import_module(SGLANG_RUNNER)
    runner._SMALLM_MOE_ON = False
    for is_gfx95 in (False, True):
        for activation, limit, kind in (
            ("silu", 0.0, "NONE"),
            ("silu", 7.0, "PER_1X32"),
            ("swiglu", 7.0, "PER_1X32"),
            ("situ", 0.0, "PER_1X32"),
            ("silu", 0.0, "PER_128X128"),
        ):
            for from_experts in ({}, {"gate_mode": "interleave"}):
                yield (
                    f"runner: {activation}, limit {limit}, {kind}, gfx95 {is_gfx95}, {from_experts}",
                    functools.partial(_run_sglang, runner, tensors, is_gfx95, activation, limit, kind, from_experts),
                )


def _run_sglang(
    runner: Any, tensors: Tensors, is_gfx95: bool, activation: str, limit: float, kind: str, extra: dict[str, object]
) -> object:
    runner.is_gfx95_supported = lambda: is_gfx95
    core = object.__new__(runner.AiterRunnerCore)
    core.config = SimpleNamespace(
        activation=activation, no_combine=False, gate_up_interleaved=True, is_gated=True,
        gemm1_alpha=4.0, gemm1_beta=None, gemm1_clamp_limit=25.0,
    )  # fmt: skip
    quant_type = runner.AiterQuantType[kind]
    given = runner.AiterRunnerInput(
        hidden_states=tensors("hidden_states"),
        topk_ids=tensors("topk_ids"),
        topk_weights=tensors("topk_weights"),
        quant_type=quant_type,
        output_dtype=torch.bfloat16,
    )
    weights = runner.AiterMoeQuantInfo(
        w13_weight=tensors("w1"), w2_weight=tensors("w2"), quant_type=quant_type, w13_scale=tensors("w1_scale"),
        w2_scale=tensors("w2_scale"), b13=tensors("bias1"), b2=tensors("bias2"), expert_mask=tensors("mask"),
        hidden_pad=128, intermediate_pad=64, swiglu_limit=limit, fp8_activations=kind == "PER_1X32",
        fused_moe_kwargs=dict(extra),
    )  # fmt: skip
    return core.run(given, weights, {})


CASES = {"vllm": vllm_cases, "sglang": sglang_cases}


def main(tree: Path, release: str) -> None:
    """Print {"case": {"aiter": [calls], "aiter_compat": [calls], "error": text or None}}."""
    [package] = [name for name in CASES if (tree / name).is_dir()]
    with tempfile.TemporaryDirectory() as site:
        with zipfile.ZipFile(build_wheel(variant(release), Path(site) / "wheel")) as wheel:
            wheel.extractall(site)
        sys.path.insert(0, site)
        sys.meta_path.insert(0, FakedHost(tree, package, REAL[package]))
        tensors = Tensors()
        native = importlib.import_module("aiter.fused_moe")
        recorders = {"aiter": Recorder(native.fused_moe, tensors), "aiter_compat": None}
        native.fused_moe = recorders["aiter"]
        recorders["aiter_compat"] = Recorder(aiter_compat.fused_moe, tensors)
        aiter_compat.fused_moe = recorders["aiter_compat"]
        found = {}
        for name, run in CASES[package](tensors):
            error = None
            try:
                run()
            except Exception as failure:  # noqa: BLE001 - the host's own, to be compared
                error = f"{type(failure).__name__}: {failure}"
            found[name] = {"error": error, **{of: list(one.calls) for of, one in recorders.items()}}
            for one in recorders.values():
                one.calls.clear()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
