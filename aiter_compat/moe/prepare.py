"""`prepare_weights`: from a checkpoint's layout to the one that the serving backend reads."""

from __future__ import annotations

import dataclasses

import torch

from aiter_compat.detect import installation
from aiter_compat.errors import AiterCompatError, InvalidArgument
from aiter_compat.layer_config import MoEConfig
from aiter_compat.layouts import deinterleave_rows
from aiter_compat.moe.build import BACKENDS
from aiter_compat.moe.checks import E8M0, FLOATING, MX_BLOCK, need_dtype, need_shape, need_tensor
from aiter_compat.moe.decide import plan_call
from aiter_compat.moe.experts import build_experts_call
from aiter_compat.quirks import has_quirk
from aiter_compat.warning_types import warn_once
from aiter_compat.weights import MoEWeights, relay_weights, target_layout


def prepare_weights(
    w1: torch.Tensor | MoEWeights,
    w2: torch.Tensor | None = None,
    w1_scale: torch.Tensor | None = None,
    w2_scale: torch.Tensor | None = None,
    *,
    config: MoEConfig,
    bias1: torch.Tensor | None = None,
    bias2: torch.Tensor | None = None,
    backend: str = "auto",
) -> MoEWeights:
    """Put a checkpoint's experts into the layout that the backend reads, once, after loading.

    Rows of w1 (and bias1) that alternate g0, u0, g1, u1 (gpt-oss; `config.gate_layout`) become [gate; up]. For AITER
    the weights are then shuffled: a16w4 for interleaved gate/up over MXFP4, 16x16 tiles otherwise, scales to match; for
    the emulation they stay in rows.

    Args:
        w1: [E, 2*I, H] (packed MXFP4: H/2 bytes), or `MoEWeights` to be moved to another backend's layout; weights
            that lie in it already are returned as they are.
        w2: [E, H, I].
        w1_scale: scales of w1 as `ac.fused_moe` takes them, rows in the order of w1.
        w2_scale: scales of w2.
        config: the layer.
        bias1: [E, 2*I] in the row order of w1.
        bias2: [E, H].
        backend: aiter, emulation, or auto: the backend that would serve this layer on the weights' device.

    Returns:
        The weights with their layout.

    Raises:
        InvalidArgument: shapes do not fit the configuration, the weights are marked as shuffled already, or AITER was
            asked for and its layout does not allow the sizes.
    """
    if backend not in BACKENDS:
        raise InvalidArgument("backend", backend, ", ".join(BACKENDS))
    if isinstance(w1, MoEWeights):
        weights = _prepared(w1, (w2, w1_scale, w2_scale, bias1, bias2), config)
    else:
        weights = _from_checkpoint(w1, w2, w1_scale, w2_scale, bias1, bias2, config)
    padded = installation().kind == "present" and has_quirk("a16w4_scale_columns_padded", installation().release)
    if backend == "aiter":
        return relay_weights(weights, target_layout(config), pad_scale_columns=padded)
    if backend == "auto" and _aiter_would_serve(weights, config):
        try:
            return relay_weights(weights, target_layout(config), pad_scale_columns=padded)
        except InvalidArgument as error:
            warn_once("prepare:layout", f"preparing for the emulation: {error}", stacklevel=2)
    return relay_weights(weights, "logical")


def _prepared(weights: MoEWeights, others: tuple[object, ...], config: MoEConfig) -> MoEWeights:
    if any(other is not None for other in others):
        raise InvalidArgument(
            "w1", "MoEWeights beside other weights", "MoEWeights alone: they hold w2, scales and biases"
        )
    if weights.weight_format != config.weight_format:
        raise InvalidArgument("w1", f"{weights.weight_format} weights", f"{config.weight_format}, as config says")
    return weights


def _from_checkpoint(
    w1: torch.Tensor,
    w2: torch.Tensor | None,
    w1_scale: torch.Tensor | None,
    w2_scale: torch.Tensor | None,
    bias1: torch.Tensor | None,
    bias2: torch.Tensor | None,
    config: MoEConfig,
) -> MoEWeights:
    per_byte = max(config.weight.codes_per_byte, 1)
    rows = config.intermediate_size * (2 if config.host_activation.gated else 1)
    first = _matrix("w1", w1, rows, config.hidden_size // per_byte)
    second = _matrix("w2", w2, config.hidden_size, config.intermediate_size // per_byte)
    experts = first.shape[0]
    if second.shape[0] != experts:
        raise InvalidArgument("w2", f"{second.shape[0]} experts", f"{experts}, as w1 has")
    scale1 = _scale("w1_scale", w1_scale, experts, rows, config.hidden_size, config)
    scale2 = _scale("w2_scale", w2_scale, experts, config.hidden_size, config.intermediate_size, config)
    bias1 = _bias("bias1", bias1, experts, rows)
    bias2 = _bias("bias2", bias2, experts, config.hidden_size)
    if config.host_activation.gated and config.checkpoint_rows == "interleaved":
        if config.weight.quant_type == "per_128x128":
            raise InvalidArgument(
                "config.gate_layout",
                '"interleaved" rows under scales of 128x128 weights',
                '"separated"',
                "A scale covers gate and up rows alike and cannot follow them apart: quantise after separating them.",
            )
        first = deinterleave_rows(first)
        bias1 = None if bias1 is None else deinterleave_rows(bias1)
        if scale1 is not None and scale1.dim() > 1 and scale1.shape[1] == rows:
            scale1 = deinterleave_rows(scale1)
    return MoEWeights(first, second, scale1, scale2, bias1, bias2, "logical", config.weight_format)


def _matrix(argument: str, tensor: torch.Tensor | None, rows: int, columns: int) -> torch.Tensor:
    shape = f"[experts, {rows}, {columns}]"
    matrix = need_tensor(argument, tensor, 3, shape)
    if bool(getattr(matrix, "is_shuffled", False)):
        raise InvalidArgument(
            argument,
            "weights that carry is_shuffled=True",
            "weights as the checkpoint has them",
            "A second shuffle would scramble them. Pass the MoEWeights of the first one.",
        )
    if tuple(matrix.shape[1:]) != (rows, columns):
        raise InvalidArgument(argument, str(list(matrix.shape)), f"{shape}, as config says")
    return matrix


def _scale(
    argument: str, scale: torch.Tensor | None, experts: int, rows: int, columns: int, config: MoEConfig
) -> torch.Tensor | None:
    """The scale with the rows of each expert apart: [E*N, …] becomes [E, N, …]."""
    quant_type = config.weight.quant_type
    if (scale is None) != (quant_type == "no"):
        allowed = "None" if quant_type == "no" else "the scales of the weights"
        raise InvalidArgument(
            argument, scale if scale is None else "a tensor", f"{allowed} with {config.weight_format}"
        )
    if scale is None:
        return None
    if not isinstance(scale, torch.Tensor):
        raise InvalidArgument(argument, type(scale).__name__, "a torch.Tensor")
    if scale.dim() == 2 and scale.shape[0] == experts * rows:
        scale = scale.view(experts, rows, scale.shape[1])
    if quant_type == "per_1x32":
        need_dtype(argument, scale, E8M0, "e8m0 scales are the biased exponent, one byte for 32 elements.")
        blocks = columns // MX_BLOCK
        if tuple(scale.shape) != (experts, rows, blocks):
            raise InvalidArgument(
                argument, str(list(scale.shape)), f"[{experts}, {rows}, {blocks}] or [{experts * rows}, {blocks}]"
            )
    return scale


def _bias(argument: str, bias: torch.Tensor | None, experts: int, width: int) -> torch.Tensor | None:
    """The bias in fp32, which AITER's kernels demand from v0.1.14 on (aiter/fused_moe.py)."""
    if bias is None:
        return None
    need_tensor(argument, bias, 2, f"[{experts}, {width}]")
    need_dtype(argument, bias, FLOATING)
    need_shape(argument, bias, (experts, width))
    return bias.to(torch.float32)


def _aiter_would_serve(weights: MoEWeights, config: MoEConfig) -> bool:
    """Whether one token through this layer would be AITER's to compute, were the weights laid out for it."""
    device = weights.device
    probe_weights = dataclasses.replace(weights, layout=target_layout(config))
    experts = weights.w1.shape[0]
    sharded = experts < config.num_experts  # expert parallelism: any map will do
    local_ids = torch.arange(config.num_experts, device=device)
    try:
        call = build_experts_call(
            torch.zeros(1, config.hidden_size, dtype=torch.bfloat16, device=device),
            probe_weights,
            torch.zeros(1, config.top_k, dtype=torch.float32, device=device),
            torch.zeros(1, config.top_k, dtype=torch.int32, device=device),
            config=config,
            expert_map=torch.where(local_ids < experts, local_ids, -1) if sharded else None,
            padding_convention="aiter",
            dtype=None,
            backend="auto",
            numerics=None,
        )
        return plan_call(call, quiet=True).decision.backend == "aiter"
    except AiterCompatError:
        return False  # the call itself will say what is wrong, with the caller's own tensors
