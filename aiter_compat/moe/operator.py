"""The registered operator that `torch.compile` sees in place of `fused_moe`.

Eager calls never come here: dispatching an operator costs more than the checks it would skip.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._subclasses import FakeTensor

from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation
from aiter_compat.moe.build import build_call
from aiter_compat.moe.checks import FLOATING
from aiter_compat.moe.fronts import FUSED_MOE
from aiter_compat.moe.serving import serve_operator

_NAME = "aiter_compat::fused_moe"


def _fused_moe(
    hidden_states: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    topk_weight: torch.Tensor,
    topk_ids: torch.Tensor,
    expert_mask: torch.Tensor | None,
    activation: str,
    quant_type: str,
    doweight_stage1: bool,
    w1_scale: torch.Tensor | None,
    w2_scale: torch.Tensor | None,
    a1_scale: torch.Tensor | None,
    a2_scale: torch.Tensor | None,
    block_size_M: int | None,  # noqa: N803 - AITER's name
    num_local_tokens: torch.Tensor | None,
    moe_sorting_dispatch_policy: int,
    dtype: torch.dtype | None,
    hidden_pad: int,
    intermediate_pad: int,
    bias1: torch.Tensor | None,
    bias2: torch.Tensor | None,
    splitk: int,
    swiglu_limit: float | None,
    gate_mode: str | None,
    beta: float | None,
    linear_beta: float | None,
    shared_w1: torch.Tensor | None,
    shared_w2: torch.Tensor | None,
    shared_w1_scale: torch.Tensor | None,
    shared_w2_scale: torch.Tensor | None,
    shared_expert_id: int,
    backend: str,
    numerics: str | None,
    activation_qdq: str,
    weight_layout: str,
) -> torch.Tensor:
    """`fused_moe` with names in place of enums, as an operator's schema needs them."""
    return serve_operator(FUSED_MOE, locals(), build_call)  # nothing but the arguments is local yet


def fake_of(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The fake of an operator that runs `function`: a result of the right shape and dtype.

    Arguments are bound by the function's own signature, so that the fake cannot fall behind it as AITER's did in
    v0.1.19 (`fused_moe_fake` lacked two parameters).
    """
    signature = inspect.signature(function)

    def fake(*arguments: Any, **named: Any) -> torch.Tensor:
        return _empty_result(signature.bind(*arguments, **named).arguments)

    return fake


def _empty_result(bound: Mapping[str, Any]) -> torch.Tensor:
    """[M, H] of `dtype`, else of the dtype of hidden_states (bf16 for quantised ones)."""
    hidden_states, w2, dtype = bound["hidden_states"], bound["w2"], bound["dtype"]
    if dtype is None:
        dtype = hidden_states.dtype if hidden_states.dtype in FLOATING else torch.bfloat16
    result: torch.Tensor = hidden_states.new_empty((hidden_states.shape[0], w2.shape[1]), dtype=dtype)
    return result


fused_moe_operator = torch.library.custom_op(_NAME, _fused_moe, mutates_args=())
fused_moe_operator.register_fake(fake_of(_fused_moe))


def needs_operator(hidden_states: object) -> bool:
    """Whether values cannot be read here: `torch.compile` traces, or a FakeTensorMode follows shapes only."""
    return torch.compiler.is_compiling() or (
        type(hidden_states) is not torch.Tensor and isinstance(hidden_states, FakeTensor)
    )


def traced_fused_moe(arguments: dict[str, Any], extra: dict[str, Any]) -> torch.Tensor:
    """Call the operator while `torch.compile` traces.

    Raises:
        InvalidArgument: a numerics profile was passed as an object, which an operator's schema cannot hold.
        UnsupportedByEmulation: keywords of unrecorded releases cannot go through the operator.
    """
    for name, value in extra.items():
        if value is not None:
            raise UnsupportedByEmulation(f"{name}: keywords of unrecorded AITER releases cannot be traced.")
    arguments["numerics"] = traceable_numerics(arguments["numerics"])
    for name in ("activation", "quant_type", "gate_mode"):
        arguments[name] = _traceable_name(name, arguments[name])
    if arguments["weight_layout"] == "auto":
        arguments["weight_layout"] = _marked_layout(arguments)
    result: torch.Tensor = fused_moe_operator(**arguments)
    return result


def traceable_numerics(numerics: Any) -> str | None:
    """The name of a profile.

    Raises:
        InvalidArgument: it was passed as an object, which an operator's schema cannot hold.
    """
    if numerics is None or isinstance(numerics, str):
        return numerics
    raise InvalidArgument("numerics", "a profile object while torch.compile traces", "a profile name")


def _traceable_name(argument: str, value: Any) -> str | None:
    if value is None:
        return None
    if type(value) is str:
        return str(value).lower()
    if argument == "gate_mode":
        return str(value.value)
    if isinstance(value, int):
        return str(_name_of_integer(argument, value))
    return str(value.name)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _name_of_integer(argument: str, value: int) -> str:
    from aiter_compat.enums import activation_name, quant_type_name

    return activation_name(value) if argument == "activation" else quant_type_name(value)


def _marked_layout(arguments: dict[str, Any]) -> str:
    """AITER's `is_shuffled` mark does not survive into the operator, so it is read while tracing."""
    if getattr(arguments["w1"], "is_shuffled", False) or getattr(arguments["w2"], "is_shuffled", False):
        return "a16w4" if arguments["gate_mode"] == "interleave" else "shuffle_16x16"
    return "auto"
