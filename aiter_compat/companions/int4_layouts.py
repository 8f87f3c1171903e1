"""Codes and scales of `per_1x32_i4_quant` as AITER's int4 MoE kernels with bf16 activations read them.

Source: AITER v0.1.13.post1 to v0.1.20.post1, aiter/ops/shuffle.py, the same in all of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from aiter_compat.companions.serving import native
from aiter_compat.companions.tensor_checks import device_of, need_choice
from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.int4 import INT4_GROUP
from aiter_compat.moe.checks import FLOATING, need_dtype, need_tensor

_NIBBLE = 0xF
_NIBBLE_BITS = 4
_BLOCK = 8
_PAIR = 2


def pack_int8_to_packed_int4(x_shuf_i8: Tensor, *, backend: str = "auto") -> Tensor:
    """AITER's `aiter.ops.shuffle.pack_int8_to_packed_int4` (v0.1.13.post1 on): two int4 codes a byte.

    Of eight codes in a row, byte j holds code j in its low bits and code j + 4 in its high ones.
    `ac.quantize(…, "int4_1x32")` packs neighbours instead.

    Args:
        x_shuf_i8: int8 or uint8 of any shape, the codes -8 to 7 in the order of `shuffle_weight`; their number a
            multiple of 8.
        backend: auto, aiter or emulation.

    Returns:
        A new tensor int8 [half the number of codes].

    Raises:
        InvalidArgument: another dtype or number of codes.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    device = device_of("x_shuf_i8", x_shuf_i8)
    need_dtype("x_shuf_i8", x_shuf_i8, (torch.int8, torch.uint8))
    if x_shuf_i8.numel() % _BLOCK:
        raise InvalidArgument("x_shuf_i8", f"{x_shuf_i8.numel()} codes", f"a multiple of {_BLOCK}")
    call = native("pack_int8_to_packed_int4", {"x_shuf_i8": x_shuf_i8}, device, backend)
    if call is not None:
        served: Tensor = call()
        return served
    codes = x_shuf_i8.contiguous().view(torch.uint8).view(-1, 2, _BLOCK // 2) & _NIBBLE
    low, high = codes.unbind(1)
    return (low | (high << _NIBBLE_BITS)).view(-1).view(torch.int8)


def shuffle_scale_for_int4(scale: Tensor, group_size: int = INT4_GROUP, *, backend: str = "auto") -> Tensor:
    """AITER's `aiter.ops.shuffle.shuffle_scale_for_int4` (v0.1.13.post1 on): bf16 scales in pairs of groups.

    Args:
        scale: [E, G, N], G = K/32: what `per_1x32_i4_quant` returns. bf16 with an even G, or fp32 or fp16.
        group_size: 32.
        backend: auto, aiter or emulation.

    Returns:
        bf16: a new contiguous tensor [E, G/2, N, 2], two neighbouring groups of one row side by side. fp32 and fp16:
        `scale`, made contiguous where it is not.

    Raises:
        InvalidArgument: another rank, dtype, number of groups or group size.
        UnsupportedByAiter: see `aiter_compat.companions.serving`.
    """
    groups = need_tensor("scale", scale, 3, "[experts, groups, rows]")
    need_dtype("scale", groups, FLOATING)
    need_choice("group_size", group_size, (INT4_GROUP,), "AITER's int4 kernels read no other.")
    paired = groups.dtype == torch.bfloat16
    if paired and groups.shape[1] % _PAIR:
        raise InvalidArgument("scale", f"{groups.shape[1]} groups", "an even number with bf16 (K a multiple of 64)")
    arguments = {"scale": groups, "group_size": group_size}
    call = native("shuffle_scale_for_int4", arguments, groups.device, backend, defaults={"group_size": INT4_GROUP})
    if call is not None:
        served: Tensor = call()
        return served
    if not paired:
        return groups.contiguous()
    experts, count, rows = groups.shape
    pairs = groups.reshape(experts, count // _PAIR, _PAIR, rows).transpose(2, 3)
    return pairs.clone(memory_format=torch.contiguous_format)
