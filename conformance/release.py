"""What the imported AITER is, read from its own objects: nothing here asks aiter_compat."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from conformance.calls import EXPERTS, OWN, Call

_MEMBERS = {
    "silu": "Silu",
    "gelu": "Gelu",
    "gelu_tanh": "GeluTanh",
    "swiglu": "Swiglu",
    "situv2": "Situv2",
    "no": "No",
    "per_tensor": "per_Tensor",
    "per_token": "per_Token",
    "per_1x32": "per_1x32",
    "per_1x128": "per_1x128",
    "per_128x128": "per_128x128",
}
_FAR = 1000.0


class Release:
    """The imported AITER.

    Args:
        moe: its module `aiter.fused_moe`.
        package: the package.
    """

    def __init__(self, moe: ModuleType, package: ModuleType) -> None:
        self._moe, self._package = moe, package
        self._keywords = frozenset(inspect.signature(moe.fused_moe).parameters)

    def against(self, call: Call) -> frozenset[str]:
        """A word for each thing that this release cannot express of the call; a refusal has to say them all."""
        return frozenset({*self._against_names(call), *self._against_meaning(call)})

    def _against_names(self, call: Call) -> list[str]:
        lacking = [name for name in call.needs if name not in self._keywords]
        enums = ((self._package.ActivationType, call.activation), (self._package.QuantType, call.quant_type))
        unknown = [asked for enum, asked in enums if _MEMBERS.get(asked) not in enum.__members__]
        if "situv2" in unknown:
            return ["Situv2"]  # its numbers came with it
        return [*unknown, *lacking]

    def _against_meaning(self, call: Call) -> list[str]:
        against = []
        if call.limit != OWN and "swiglu_limit" not in self._keywords:
            against.append("swiglu_limit")
        if "gate_mode" not in self._keywords:
            # Up to v0.1.13.post1 SwiGLU over MXFP4 is read as interleaved, everything else as separated, and no kernel
            # has SwiGLU over anything else (`fused_moe_` and `get_2stage_cfgs`).
            interleaved = call.activation == "swiglu" and call.quant_type == "per_1x32"
            separated = call.activation != "swiglu"
            if not {"interleave": interleaved, "separated": separated}.get(call.gate_mode, False):
                against.append("gate_mode")
        if call.shared and "shared_w1" in self._keywords:
            against += self._against_shared_expert(call)
        return against

    @staticmethod
    def _against_shared_expert(call: Call) -> list[str]:
        """What `_validate_fhmoe_contract` of aiter/fhmoe.py refuses (v0.1.19.post1 to v0.1.20.post1)."""
        conditions = {
            "SiLU": call.activation == "silu",
            "per_1x32": call.quant_type == "per_1x32",
            "expert_mask": "expert_mask" not in call.arguments,
            "bias": not {"bias1", "bias2"} & {*call.arguments},
            "shared_expert_id": call.arguments["shared_expert_id"] == EXPERTS - 1,
        }
        return [word for word, holds in conditions.items() if not holds]

    def wrong_in(self, call: Call, operator: str, arrived: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        """What reached AITER's operator otherwise than it was asked for.

        Args:
            call: the call.
            operator: name of the operator that was reached.
            arrived: what it was given, by its own parameter names.
            defaults: of its optional parameters.
        """
        expected: dict[str, Any] = {**defaults, **call.arrives}
        expected["activation"] = self._package.ActivationType.__members__[_MEMBERS[call.activation]].value
        expected["quant_type"] = self._package.QuantType.__members__[_MEMBERS[call.quant_type]].value
        if "gate_mode" in arrived:
            expected["gate_mode"] = call.gate_mode
        expected.pop("swiglu_limit", None)
        policy = "moe_sorting_dispatch_policy"
        expected[policy] = type(arrived[policy])(expected[policy])  # a bool in the operators up to v0.1.12.post2
        wrong = [
            f"{name}: {_text(arrived.get(name))} instead of {_text(value)}"
            for name, value in expected.items()
            if name not in arrived or not _same(arrived[name], value)
        ]
        if operator != ("fhmoe_" if call.shared else "fused_moe_"):
            wrong.append(f"the operator {operator} was reached")
        for name in ("w1", "w2"):
            if bool(getattr(arrived[name], "is_shuffled", False)) != call.shuffled:
                wrong.append(f"is_shuffled of {name} is not {call.shuffled}")
        if call.gated:
            read, asked = self._limit_read(call.activation, arrived), self._limit_asked(call)
            if read is not None and read != asked:
                wrong.append(f"swiglu_limit: {arrived.get('swiglu_limit')} is read as {read} instead of {asked}")
        return wrong

    @staticmethod
    def _limit_asked(call: Call) -> float:
        if call.limit == OWN:
            return 7.0 if call.activation == "swiglu" else math.inf
        return float(call.limit)

    def _limit_read(self, activation: str, arrived: Mapping[str, Any]) -> float | None:
        """The clamp that AITER's own torch reference makes of the limit that arrived; None: it makes none."""
        if activation == "situv2":
            return None  # its bounds are beta and linear_beta
        if "swiglu_limit" in arrived:
            return self._clamp_of_stage1(_MEMBERS[activation], arrived["swiglu_limit"])
        return self._clamp_without_a_limit() if activation == "swiglu" else None

    @functools.cache  # noqa: B019 - one object for the life of the process
    def _clamp_of_stage1(self, member: str, limit: float | None) -> float:
        one, ids = torch.ones(1, 1), torch.zeros(1, 1, dtype=torch.int32)
        activation = self._package.ActivationType.__members__[member]

        def stage1(up: float) -> float:
            w1 = torch.tensor([[[1.0], [up]]])
            named = {"dtype": torch.float32, "activation": activation, "swiglu_limit": limit}
            return float(self._moe.torch_moe_stage1(one, w1, one[None], one, ids, **named))

        return _clamp(stage1)

    @functools.cache  # noqa: B019 - one object for the life of the process
    def _clamp_without_a_limit(self) -> float:
        return _clamp(lambda up: float(self._moe.swiglu(torch.ones(1), torch.tensor([up]))))


def _clamp(activated: Callable[[float], float]) -> float:
    """The clamp in force, seen from a gate of one and an up projection far beyond any clamp.

    Args:
        activated: the activation, of the up projection.
    """
    shift = activated(0.0)  # of SwiGLU, whose up projection is moved by one
    slope = activated(1.0) - shift
    if slope == 0.0:
        return 0.0
    clamp = round((activated(_FAR) - shift) / slope, 3)
    return math.inf if clamp == _FAR else clamp


def _same(arrived: Any, expected: Any) -> bool:
    if isinstance(expected, torch.Tensor):
        return (
            isinstance(arrived, torch.Tensor)
            and (arrived.dtype, arrived.shape) == (expected.dtype, expected.shape)
            and torch.equal(_comparable(arrived), _comparable(expected))
        )
    return type(arrived) is type(expected) and arrived == expected


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_floating_point() and tensor.element_size() > 1 else tensor.view(torch.uint8)


def _text(value: Any) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)
