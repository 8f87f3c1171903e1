"""OpenAI's triton_kernels, as vLLM 0.33.0 brings it and calls it on Hopper: its two grouped GEMMs, bf16 activations.

The library is not installed and not part of this repository: unzip the folder `vllm/third_party/triton_kernels` of
the vLLM wheel and pass its path. What vLLM does when it loads a model (`_swizzle_mxfp4`, alternating rows of gate and
up) is done once; the plan of each batch (`RoutingData`) is made before the time is taken, and no activation is rounded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn import functional

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from benchmarks.peers_gpu.kernels.gate_activation import silu_gate

_SCALE_COLUMNS = 4
_WARPS = 8


class OpenaiTritonKernels:
    """The layer in the library's own layout."""

    name = "triton_kernels, no QDQ"

    def __init__(self, layer: EmulationRequest, folder: Path) -> None:
        """Repack the weights.

        Args:
            layer: mxfp4 weights in the logical layout, the gate half first.
            folder: `triton_kernels`, or the folder it is in.
        """
        self._library = _load(folder)
        self._library.update_opt_flags_constraints({"split_k": 1})  # as vLLM does on Hopper
        self._w1, self._first = self._repack(_alternating(layer.w1), _alternating(layer.w1_scale))
        self._w2, self._second = self._repack(layer.w2, layer.w2_scale)
        self._activation = self._fused(layer.activation)
        self._columns = layer.w2.shape[2] * 2
        self._plans: dict[int, Any] = {}

    def prepare(self, request: EmulationRequest) -> None:
        """Make the plan of a batch, outside of what is timed."""
        library = self._library
        ids, experts = request.topk_ids, request.w1.shape[0]
        flat = ids.reshape(-1).long()
        by_expert = torch.argsort(flat, stable=True)
        places = torch.argsort(by_expert).int()
        counts = torch.bincount(flat, minlength=experts).int()
        blocks = library.compute_expt_data_torch(counts, experts, flat.numel())
        weights = request.topk_weight.reshape(-1)[by_expert].to(torch.bfloat16)
        order = by_expert.int()
        self._plans[id(request)] = (
            library.RoutingData(weights, counts, experts, ids.shape[1], blocks),
            library.GatherIndx(order, places),
            library.ScatterIndx(places, order),
        )

    def call(self, request: EmulationRequest) -> torch.Tensor:
        """[M, H] bf16."""
        routing, gather, scatter = self._plans[id(request)]
        x = request.hidden_states
        activated = x.new_empty(1, request.topk_ids.numel(), self._columns)
        result = x.new_empty(1, *x.shape)
        self._library.matmul_ogs(
            x,
            self._w1,
            None,
            routing,
            gather_indx=gather,
            precision_config=self._first,
            fused_activation=self._activation,
            y=activated,
        )
        self._library.matmul_ogs(
            activated[0],
            self._w2,
            None,
            routing,
            scatter_indx=scatter,
            precision_config=self._second,
            gammas=routing.gate_scal,
            y=result,
        )
        return result[0]

    def _repack(self, codes: torch.Tensor, scale: torch.Tensor | None) -> tuple[Any, Any]:
        assert scale is not None
        library = self._library
        scale = functional.pad(scale, (0, -scale.shape[-1] % _SCALE_COLUMNS))
        value_layout, value_options = library.layout.make_default_matmul_mxfp4_w_layout(mx_axis=1)
        scale_layout, scale_options = library.layout.make_default_matmul_mxfp4_w_scale_layout(
            mx_axis=1, num_warps=_WARPS
        )
        values = library.wrap_torch_tensor(codes.transpose(-2, -1), dtype=library.FP4)
        repacked = library.convert_layout(values, value_layout, **value_options)
        scales = library.convert_layout(
            library.wrap_torch_tensor(scale.transpose(-2, -1)), scale_layout, **scale_options
        )
        return repacked, library.PrecisionConfig(
            weight_scale=scales, flex_ctx=library.FlexCtx(rhs_data=library.InFlexData())
        )

    def _fused(self, spec: ActivationSpec) -> Any:
        library = self._library
        if spec.name == "swiglu" and spec.beta == 1.0 and spec.limit is not None:
            function = library.FnSpecs("swiglu", library.swiglu_fn, ("alpha", "limit"))
            return library.FusedActivation(function, (spec.alpha, spec.limit), 2)
        if spec.name == "silu" and spec.limit is None:
            return library.FusedActivation(library.FnSpecs("silu_gate", silu_gate, ()), (), 2)
        raise NotImplementedError(f"no fused activation for {spec}")


def _alternating(rows: torch.Tensor | None) -> torch.Tensor:
    """[E, 2*I, n] with the gate half first, to rows g0, u0, g1, u1."""
    assert rows is not None
    experts, count, width = rows.shape
    return rows.view(experts, 2, count // 2, width).transpose(1, 2).reshape(experts, count, width)


def _load(folder: Path) -> SimpleNamespace:
    """The library's names that are used here."""
    root = folder.parent if folder.name == "triton_kernels" else folder
    if not (root / "triton_kernels" / "matmul_ogs.py").is_file():
        raise FileNotFoundError(f"no triton_kernels/matmul_ogs.py in {root}")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    from triton_kernels import matmul_ogs, numerics, routing, swiglu, tensor
    from triton_kernels.matmul_ogs_details.opt_flags import update_opt_flags_constraints
    from triton_kernels.tensor_details import layout

    return SimpleNamespace(
        matmul_ogs=matmul_ogs.matmul_ogs,
        PrecisionConfig=matmul_ogs.PrecisionConfig,
        FlexCtx=matmul_ogs.FlexCtx,
        FnSpecs=matmul_ogs.FnSpecs,
        FusedActivation=matmul_ogs.FusedActivation,
        InFlexData=numerics.InFlexData,
        RoutingData=routing.RoutingData,
        GatherIndx=routing.GatherIndx,
        ScatterIndx=routing.ScatterIndx,
        compute_expt_data_torch=routing.compute_expt_data_torch,
        swiglu_fn=swiglu.swiglu_fn,
        FP4=tensor.FP4,
        wrap_torch_tensor=tensor.wrap_torch_tensor,
        convert_layout=tensor.convert_layout,
        layout=layout,
        update_opt_flags_constraints=update_opt_flags_constraints,
    )
