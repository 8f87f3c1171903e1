"""`get_hip_quant`, `get_torch_quant`, `get_triton_quant`: the quantiser of a quant type.

AITER's return functions of its own, which fail when called for a quant type that they lack; these return the companions
of those functions, which resolve AITER at each call, and refuse the quant type at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from aiter_compat.companions.mx_quantisers import per_1x32_f4_quant, per_1x32_f4_quant_triton, per_1x32_mx_quant_hip
from aiter_compat.companions.row_quantisers import (
    per_group_quant_hip,
    per_tensor_quant,
    per_tensor_quant_hip,
    per_tensor_quant_triton,
    per_token_quant_hip,
    per_token_quant_triton,
    pertoken_quant,
)
from aiter_compat.enums import quant_type_name
from aiter_compat.errors import InvalidArgument

Quantiser = Callable[..., Any]
_GROUP = 128


def _unquantised(x: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
    """What a quantiser of `QuantType.No` returns: the tensor itself."""
    return x, None


def _in_groups(
    quantise_rows: Quantiser,
    x: Tensor,
    scale: Tensor | None = None,
    quant_dtype: torch.dtype = torch.int8,
) -> tuple[Tensor, Tensor]:
    """A quantiser of rows on groups of 128: [M, N] to codes [M, N] and scales [M, N/128]."""
    if x.dim() != 2 or x.shape[-1] % _GROUP:
        raise InvalidArgument("x", f"shape {tuple(x.shape)}", f"[M, N], N a multiple of {_GROUP}")
    codes, scales = quantise_rows(x.reshape(-1, _GROUP), scale=scale, quant_dtype=quant_dtype)
    return codes.view(x.shape), scales.view(x.shape[0], x.shape[1] // _GROUP)


_HIP: Mapping[str, Quantiser] = {
    "no": _unquantised,
    "per_tensor": per_tensor_quant_hip,
    "per_token": per_token_quant_hip,
    "per_1x32": per_1x32_mx_quant_hip,
    "per_1x128": functools.partial(per_group_quant_hip, group_size=_GROUP),
}
_TORCH: Mapping[str, Quantiser] = {
    "no": _unquantised,
    "per_tensor": per_tensor_quant,
    "per_token": pertoken_quant,
    "per_1x32": per_1x32_f4_quant,
    "per_1x128": functools.partial(_in_groups, pertoken_quant),
}
_TRITON: Mapping[str, Quantiser] = {
    "no": _unquantised,
    "per_tensor": per_tensor_quant_triton,
    "per_token": per_token_quant_triton,
    "per_1x32": per_1x32_f4_quant_triton,
    "per_1x128": functools.partial(_in_groups, per_token_quant_triton),
}


def get_hip_quant(qType: Any) -> Quantiser:  # noqa: N803 - AITER's name
    """AITER's `aiter.get_hip_quant`.

    For per_1x32 this is `per_1x32_mx_quant_hip`, as in AITER since v0.1.15; before, AITER's did fp4 alone.

    Args:
        qType: no, per_tensor, per_token, per_1x32, per_1x128; a member of `ac.QuantType`; or its integer.

    Returns:
        A function of (x, scale=None, quant_dtype=…) that returns codes and scales; the same one for the same type.

    Raises:
        InvalidArgument: AITER has no such quantiser for this type.
    """
    return _chosen(_HIP, qType)


def get_torch_quant(qType: Any) -> Quantiser:  # noqa: N803 - AITER's name
    """AITER's `aiter.get_torch_quant`, its references. Arguments, result and errors as `get_hip_quant`.

    AITER lists per_256x128 and per_1024x128 as well, and refuses them when called.
    """
    return _chosen(_TORCH, qType)


def get_triton_quant(qType: Any) -> Quantiser:  # noqa: N803 - AITER's name
    """AITER's `aiter.get_triton_quant`. Arguments, result and errors as `get_hip_quant`."""
    return _chosen(_TRITON, qType)


def _chosen(table: Mapping[str, Quantiser], quant_type: Any) -> Quantiser:
    name = quant_type_name(quant_type, "qType")
    if name not in table:
        raise InvalidArgument("qType", name, ", ".join(table))
    return table[name]
