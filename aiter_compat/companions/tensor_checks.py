"""Checks that several companions share, on metadata alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from aiter_compat.errors import InvalidArgument
from aiter_compat.moe.checks import FLOATING, need_dtype, need_tensor


def need_gating(gating_output: Any) -> Tensor:
    """Router logits [M, E], fp32, bf16 or fp16.

    Raises:
        InvalidArgument: something else.
    """
    gating = need_tensor("gating_output", gating_output, 2, "[tokens, experts]")
    need_dtype("gating_output", gating, FLOATING)
    if gating.shape[1] < 1:
        raise InvalidArgument("gating_output", str(list(gating.shape)), "one expert or more")
    return gating


def device_of(argument: str, tensor: Any) -> torch.device:
    """The device of something that must be a tensor.

    Raises:
        InvalidArgument: it is none.
    """
    if not isinstance(tensor, Tensor):
        raise InvalidArgument(argument, type(tensor).__name__, "a torch.Tensor")
    return tensor.device


def need_output(argument: str, tensor: Any, dtypes: tuple[torch.dtype, ...], rows: int, columns: int) -> Tensor:
    """A tensor [rows, columns or more] that is written into; any strides.

    Raises:
        InvalidArgument: it is no such tensor.
    """
    found = need_tensor(argument, tensor, 2, f"[{rows}, {columns}]")
    need_dtype(argument, found, dtypes)
    if found.shape[0] != rows or found.shape[1] < columns:
        raise InvalidArgument(argument, str(list(found.shape)), f"[{rows}, {columns}]")
    return found


def need_choice(argument: str, value: Any, allowed: tuple[Any, ...], remedy: str = "") -> None:
    """Refuse a value outside `allowed`.

    Raises:
        InvalidArgument: the value is not allowed.
    """
    if value not in allowed:
        raise InvalidArgument(argument, value, ", ".join(map(repr, allowed)), remedy)
