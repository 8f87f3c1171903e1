"""What a host's `expert_map` says: whether AITER's mask can stand for it, and that mask. Each read once per map."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch

from aiter_compat.errors import InvalidArgument

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class _Kept(Generic[_Answer]):
    """What one map gave, valid while the map is the same tensor, unchanged, for the same numbers of experts."""

    expert_map: weakref.ref[torch.Tensor]
    version: int
    sizes: tuple[int, ...]
    answer: _Answer


class _PerMap(Generic[_Answer]):
    """Answers for as long as a map lives unchanged.

    A map that was made under `torch.inference_mode` does not count its changes: nothing is kept for it.
    """

    def __init__(self) -> None:
        self.kept: dict[int, _Kept[_Answer]] = {}
        self._lock = threading.Lock()

    def find(self, expert_map: torch.Tensor, sizes: tuple[int, ...]) -> _Kept[_Answer] | None:
        """What is known of this map, if anything is."""
        if expert_map.is_inference():
            return None
        known = self.kept.get(id(expert_map))
        if known is None or known.expert_map() is not expert_map:
            return None
        return known if (known.version, known.sizes) == (expert_map._version, sizes) else None

    def keep(self, expert_map: torch.Tensor, sizes: tuple[int, ...], make: Callable[[], _Answer]) -> _Answer:
        """Make the answer, and keep it where changes of the map can be seen."""
        if expert_map.is_inference():
            return make()
        key, version = id(expert_map), expert_map._version
        answer = make()
        with self._lock:
            reference = weakref.ref(expert_map, lambda _: self.kept.pop(key, None))
            self.kept[key] = _Kept(reference, version, sizes, answer)
        return answer


_orders: _PerMap[bool] = _PerMap()
_masks: _PerMap[torch.Tensor] = _PerMap()


def map_in_order(expert_map: torch.Tensor, local_experts: int, all_experts: int) -> bool:
    """Whether local ids rise with global ids, as AITER's mask implies; allocates nothing on a device.

    Reading a map synchronises a GPU, which is why the answer is kept. While a CUDA graph is captured nothing can be
    read: a map that was not seen before is not checked then, and no order is taken for granted.

    Args:
        expert_map: [experts of all ranks] integer, local id of each global expert, -1 where it is another rank's.
        local_experts: E, experts in w1.
        all_experts: experts of all ranks.

    Raises:
        InvalidArgument: it is no such map: a mask of 0 and 1, an id out of range, or one used twice.
    """
    sizes = (local_experts, all_experts)
    if not isinstance(expert_map, torch.Tensor):
        raise InvalidArgument("expert_map", type(expert_map).__name__, "a torch.Tensor [experts of all ranks]")
    known = _orders.find(expert_map, sizes)
    if known is not None:
        return known.answer
    _check_form(expert_map, all_experts)
    if expert_map.is_cuda and torch.cuda.is_current_stream_capturing():
        return False
    return _orders.keep(expert_map, sizes, lambda: _read_order(expert_map, local_experts))


def mask_of_map(expert_map: torch.Tensor) -> torch.Tensor:
    """AITER's mask for a map: [experts of all ranks] int32 with 1 for local experts.

    Made for calls that AITER serves, and for no others: what is kept on a device from inside a captured call
    (`torch.compile(mode="reduce-overhead")`) lies in the memory of that graph.
    """
    known = _masks.find(expert_map, ())
    if known is not None:
        return known.answer
    return _masks.keep(expert_map, (), lambda: (expert_map >= 0).to(torch.int32))


def _check_form(expert_map: torch.Tensor, all_experts: int) -> None:
    if tuple(expert_map.shape) != (all_experts,):
        raise InvalidArgument(
            "expert_map", f"shape {list(expert_map.shape)}", f"[{all_experts}], the experts of all ranks"
        )
    if expert_map.dtype not in (torch.int32, torch.int64, torch.int16, torch.int8):
        raise InvalidArgument(
            "expert_map", str(expert_map.dtype), "a signed integer dtype (-1 for experts of other ranks)"
        )


def _read_order(expert_map: torch.Tensor, local_experts: int) -> bool:
    local = [value for value in expert_map.tolist() if value >= 0]
    if sorted(local) != list(range(local_experts)):
        shown = f"local ids {sorted(set(local))[:8]} for {local_experts} experts"
        raise InvalidArgument(
            "expert_map",
            shown,
            f"each of 0 to {local_experts - 1} once, -1 elsewhere",
            "A 0/1 mask goes to ac.fused_moe(expert_mask=).",
        )
    return local == sorted(local)
