"""Convert a host's `expert_map` to AITER's mask, once per map."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass

import torch

from aiter_compat.errors import InvalidArgument

_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class _Conversion:
    """What one map gave, valid while the map is the same tensor, unchanged, for the same numbers of experts."""

    expert_map: weakref.ref[torch.Tensor]
    version: int
    sizes: tuple[int, int]
    mask: torch.Tensor
    ordered: bool


_converted: dict[int, _Conversion] = {}


def mask_of_map(expert_map: torch.Tensor, local_experts: int, all_experts: int) -> tuple[torch.Tensor, bool]:
    """AITER's mask for a map, and whether local ids rise with global ids, as the mask implies.

    Reading the map's values synchronises a GPU, so the answer is kept for as long as the map lives unchanged. A map
    that was made under `torch.inference_mode` does not count its changes and is read at each call.

    Args:
        expert_map: [experts of all ranks] integer, local id of each global expert, -1 where it is another rank's.
        local_experts: E, experts in w1.
        all_experts: experts of all ranks.

    Returns:
        mask [experts of all ranks] int32 with 1 for local experts; True when the order is AITER's.

    Raises:
        InvalidArgument: it is no such map: a mask of 0 and 1, an id out of range, or one used twice.
    """
    sizes = (local_experts, all_experts)
    if not isinstance(expert_map, torch.Tensor) or expert_map.is_inference():
        return _convert(expert_map, *sizes)
    key, version = id(expert_map), expert_map._version
    known = _converted.get(key)
    if known is not None and known.expert_map() is expert_map and (known.version, known.sizes) == (version, sizes):
        return known.mask, known.ordered
    mask, ordered = _convert(expert_map, *sizes)
    with _lock:
        reference = weakref.ref(expert_map, lambda _: _converted.pop(key, None))
        _converted[key] = _Conversion(reference, version, sizes, mask, ordered)
    return mask, ordered


def _convert(expert_map: object, local_experts: int, all_experts: int) -> tuple[torch.Tensor, bool]:
    if not isinstance(expert_map, torch.Tensor):
        raise InvalidArgument("expert_map", type(expert_map).__name__, "a torch.Tensor [experts of all ranks]")
    if tuple(expert_map.shape) != (all_experts,):
        raise InvalidArgument(
            "expert_map", f"shape {list(expert_map.shape)}", f"[{all_experts}], the experts of all ranks"
        )
    if expert_map.dtype not in (torch.int32, torch.int64, torch.int16, torch.int8):
        raise InvalidArgument(
            "expert_map", str(expert_map.dtype), "a signed integer dtype (-1 for experts of other ranks)"
        )
    local = [value for value in expert_map.tolist() if value >= 0]
    if sorted(local) != list(range(local_experts)):
        shown = f"local ids {sorted(set(local))[:8]} for {local_experts} experts"
        raise InvalidArgument(
            "expert_map",
            shown,
            f"each of 0 to {local_experts - 1} once, -1 elsewhere",
            "A 0/1 mask goes to ac.fused_moe(expert_mask=).",
        )
    return (expert_map >= 0).to(torch.int32), local == sorted(local)
