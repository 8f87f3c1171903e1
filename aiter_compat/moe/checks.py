"""Metadata checks of a call: ranks, dtypes, devices and sizes, without reading a value."""

from __future__ import annotations

from operator import attrgetter

import torch

from aiter_compat.backends.moe_call import MoECall
from aiter_compat.errors import InvalidArgument

FLOATING = (torch.bfloat16, torch.float16, torch.float32)
FP8 = tuple(
    getattr(torch, name)
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    if hasattr(torch, name)
)
FP4 = tuple(getattr(torch, name) for name in ("float4_e2m1fn_x2",) if hasattr(torch, name))
E8M0 = (torch.uint8, *(getattr(torch, name) for name in ("float8_e8m0fnu",) if hasattr(torch, name)))
PACKED_FP4 = (torch.uint8, *FP4)
MX_BLOCK = 32
_TILE = 128


def need_tensor(argument: str, value: object, rank: int, shape: str) -> torch.Tensor:
    """`value` as a tensor of this rank.

    Raises:
        InvalidArgument: it is no tensor, or has another rank.
    """
    if not isinstance(value, torch.Tensor):
        raise InvalidArgument(argument, type(value).__name__, f"a torch.Tensor {shape}")
    if value.dim() != rank:
        raise InvalidArgument(argument, f"a tensor of shape {list(value.shape)}", f"{rank} dimensions {shape}")
    return value


def need_dtype(argument: str, tensor: torch.Tensor, allowed: tuple[torch.dtype, ...], remedy: str = "") -> None:
    """Refuse a dtype outside `allowed`.

    Raises:
        InvalidArgument: the dtype is not allowed.
    """
    if tensor.dtype not in allowed:
        raise InvalidArgument(argument, str(tensor.dtype), ", ".join(str(dtype) for dtype in allowed), remedy)


def need_shape(argument: str, tensor: torch.Tensor, *allowed: tuple[int, ...], meaning: str = "") -> None:
    """Refuse a shape outside `allowed`.

    Raises:
        InvalidArgument: the shape is not allowed.
    """
    if tuple(tensor.shape) not in allowed:
        shapes = " or ".join(str(list(shape)) for shape in dict.fromkeys(allowed))
        raise InvalidArgument(argument, str(list(tensor.shape)), f"{shapes}{f' ({meaning})' if meaning else ''}")


def check_call(call: MoECall) -> None:
    """Check everything about a call that its metadata shows.

    Raises:
        InvalidArgument: the first argument that does not fit.
    """
    _check_plain_values(call)
    _check_tensors(call)
    _check_routing(call)
    _check_scales(call)
    _check_biases(call)
    _check_pads(call)
    _check_layout(call)
    _check_activation_blocks(call)


def _check_plain_values(call: MoECall) -> None:
    if not isinstance(call.doweight_stage1, bool):
        raise InvalidArgument("doweight_stage1", call.doweight_stage1, "True or False")
    for argument, value in (
        ("block_size_M", call.block_size_m or 0),
        ("moe_sorting_dispatch_policy", call.moe_sorting_dispatch_policy),
        ("splitk", call.splitk),
        ("shared_expert_id", call.shared_expert_id),
    ):
        if not isinstance(value, int):
            raise InvalidArgument(argument, value, "a whole number")


_TENSORS = (
    "w1", "w2", "topk_weight", "topk_ids", "w1_scale", "w2_scale", "a1_scale", "a2_scale", "bias1", "bias2",
    "expert_mask", "expert_map", "num_local_tokens", "shared_w1", "shared_w2", "shared_w1_scale", "shared_w2_scale",
)  # fmt: skip
_tensors_of = attrgetter(*_TENSORS)


def _check_tensors(call: MoECall) -> None:
    device = call.hidden_states.device
    for argument, tensor in zip(_TENSORS, _tensors_of(call), strict=True):
        if tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(argument, type(tensor).__name__, "None or a torch.Tensor")
        if tensor.device != device:
            raise InvalidArgument(
                argument,
                f"a tensor on {tensor.device}",
                f"a tensor on {device}, where hidden_states is",
                f"Move it there once, with {argument}.to({str(device)!r}).",
            )


def _check_routing(call: MoECall) -> None:
    need_shape("topk_weight", call.topk_weight, tuple(call.topk_ids.shape), meaning="that of topk_ids")
    if call.topk_ids.shape[0] != call.tokens:
        raise InvalidArgument(
            "topk_ids", str(list(call.topk_ids.shape)), f"[{call.tokens}, k], a row for each row of hidden_states"
        )
    counted = call.num_local_tokens
    if counted is not None and (counted.numel() != 1 or counted.dtype not in (torch.int32, torch.int64)):
        raise InvalidArgument(
            "num_local_tokens", f"{counted.dtype} of shape {list(counted.shape)}", "one element of int32 or int64"
        )
    mask = call.expert_mask
    if mask is not None:
        need_tensor("expert_mask", mask, 1, "[experts of all ranks], 1 for a local one")
        if mask.dtype not in (torch.bool, torch.int32, torch.int64, torch.uint8, torch.int8):
            raise InvalidArgument("expert_mask", str(mask.dtype), "bool or an integer dtype")
        if mask.numel() < call.experts:
            raise InvalidArgument(
                "expert_mask",
                f"{mask.numel()} elements",
                f"one for each expert of all ranks, at least the {call.experts} of w1",
                "A map from global to local ids goes to ac.fused_experts(expert_map=).",
            )


def _check_scales(call: MoECall) -> None:
    if call.quant_type == "no":
        for argument in ("w1_scale", "w2_scale"):
            if getattr(call, argument) is not None:
                raise InvalidArgument(
                    argument, "a tensor", 'None with quant_type="no"', "Name the quant type of the weights."
                )
        return
    rows1 = call.w1.shape[1]
    for argument, rows, columns in (
        ("w1_scale", rows1, call.hidden),
        ("w2_scale", call.hidden, call.intermediate),
    ):
        scale = getattr(call, argument)
        if scale is None:
            raise InvalidArgument(argument, None, f"the scales of the weights, with quant_type={call.quant_type!r}")
        check = _SCALE_CHECKS.get(call.quant_type)
        if check is not None:  # else a quant type that AITER alone computes
            check(argument, scale, call, rows, columns)


def _mx_scale(argument: str, scale: torch.Tensor, call: MoECall, rows: int, columns: int) -> None:
    if call.weight_format == "int4":
        return
    need_dtype(argument, scale, E8M0, "e8m0 scales are the biased exponent, one byte for 32 elements.")
    blocks = columns // MX_BLOCK
    if call.known_layout in (None, "logical"):
        need_shape(
            argument,
            scale,
            (call.experts, rows, blocks),
            (call.experts * rows, blocks),
            meaning=f"one scale for {MX_BLOCK} elements along the last dimension",
        )
    elif scale.numel() < call.experts * rows * blocks:  # a shuffled scale may carry rows and columns of padding
        raise InvalidArgument(argument, f"{scale.numel()} scales", f"at least {call.experts * rows * blocks}")


def _tensor_scale(argument: str, scale: torch.Tensor, call: MoECall, rows: int, columns: int) -> None:
    del columns
    need_dtype(argument, scale, (torch.float32,))
    experts = call.experts
    need_shape(argument, scale, (experts, 1), (experts, rows, 1), (experts,), (experts, 1, 1))


def _token_scale(argument: str, scale: torch.Tensor, call: MoECall, rows: int, columns: int) -> None:
    del columns
    need_dtype(argument, scale, (torch.float32,))
    need_shape(argument, scale, (call.experts, rows, 1), (call.experts, rows))


def _tile_scale(argument: str, scale: torch.Tensor, call: MoECall, rows: int, columns: int) -> None:
    need_dtype(argument, scale, (torch.float32,))
    for name, size in (("hidden_states", call.hidden), ("w2", call.intermediate)):
        if size % _TILE:
            raise InvalidArgument(name, f"size {size}", f"a multiple of {_TILE} with quant_type={call.quant_type!r}")
    tiles = (rows // _TILE, columns // _TILE)
    need_shape(argument, scale, (call.experts, *tiles), (call.experts, tiles[0] * tiles[1]))


_SCALE_CHECKS = {
    "per_1x32": _mx_scale,
    "per_tensor": _tensor_scale,
    "per_token": _token_scale,
    "per_1x128": _tile_scale,
    "per_128x128": _tile_scale,
}


def _check_biases(call: MoECall) -> None:
    for argument, tensor, width in (
        ("bias1", call.bias1, call.w1.shape[1]),
        ("bias2", call.bias2, call.hidden),
    ):
        if tensor is None:
            continue
        need_tensor(argument, tensor, 2, f"[{call.experts}, {width}]")
        need_dtype(argument, tensor, FLOATING)
        need_shape(argument, tensor, (call.experts, width))


def _check_pads(call: MoECall) -> None:
    for argument, pad, size in (
        ("hidden_pad", call.hidden_pad, call.hidden),
        ("intermediate_pad", call.intermediate_pad, call.intermediate),
    ):
        if not 0 <= pad < size:
            raise InvalidArgument(argument, pad, f"0 to {size - 1}, part of the padded size {size}")


def _check_layout(call: MoECall) -> None:
    layout = call.weight_layout
    gated_mx = call.quant_type == "per_1x32" and call.activation.gated
    if layout == "logical" and call.marked_shuffled:
        raise InvalidArgument(
            "weight_layout",
            '"logical" for weights that carry is_shuffled=True',
            '"shuffle_16x16" or "a16w4"',
            "State the layout that they were shuffled to.",
        )
    if layout == "shuffle_16x16" and gated_mx and call.gate_mode == "interleave":
        raise InvalidArgument(
            "weight_layout",
            '"shuffle_16x16", which keeps gate and up rows apart, with gate_mode="interleave"',
            '"a16w4" or "logical" with "interleave"',
        )
    if layout == "a16w4" and gated_mx and call.gate_mode != "interleave":
        raise InvalidArgument(
            "weight_layout",
            '"a16w4", which alternates 16 gate rows with 16 up rows, with gate_mode="separated"',
            'gate_mode="interleave" with "a16w4"; "shuffle_16x16" or "logical" with "separated"',
        )
    if layout == "a16w4" and call.quant_type != "per_1x32":
        raise InvalidArgument(
            "weight_layout", "a16w4", f'"logical" or "shuffle_16x16" with quant_type={call.quant_type!r}'
        )


def _check_activation_blocks(call: MoECall) -> None:
    block = _TILE if call.activation_qdq == "fp8_1x128" else MX_BLOCK if call.activation_qdq.startswith("mx") else 1
    for name, size in (("hidden size", call.hidden), ("intermediate size", call.intermediate)):
        if size % block:
            raise InvalidArgument(
                call.qdq_asked_by,
                f"{call.activation_qdq} with {name} {size}",
                f"sizes that are multiples of {block}, the elements under one scale",
            )
