"""Call AITER's `fused_moe` through the adapter of its release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import torch

from aiter_compat.adapters import NativeArguments, adapter_for
from aiter_compat.backends.moe_call import MoECall
from aiter_compat.enums.names import ACTIVATIONS, QUANT_TYPES
from aiter_compat.enums.resolve import enum_class
from aiter_compat.errors import AiterCallError, AiterImportError, UnsupportedByAiter
from aiter_compat.features.paths import FUSED_MOE
from aiter_compat.native import attempt
from aiter_compat.probe import Parameter, Surface

_MODULE, _, FUNCTION = FUSED_MOE.rpartition(".")


@dataclass(frozen=True, eq=False)
class NativeCall:
    """A call with what it takes to send it.

    Attributes:
        module: AITER's module. The function is looked up on it at each call (SGLang replaces it there at run time).
        parameters: of the function.
        arguments: every value, in this release's meaning.
        add_context: names the call in an error of AITER's: of the error and the number of tokens.
    """

    module: ModuleType
    parameters: tuple[Parameter, ...]
    arguments: NativeArguments
    add_context: Callable[[Exception, int], None]


def native_call(call: MoECall, surface: Surface, swiglu_limit: float | None, label: str) -> NativeCall:
    """The call in the terms of the installed AITER, ready to be sent.

    Args:
        call: a call that `express` found expressible on this surface.
        surface: of the installed AITER.
        swiglu_limit: as translated by `express`.
        label: the release, for the context of an error.

    Raises:
        AiterImportError: AITER cannot be imported.
    """
    outcome = attempt(_MODULE)
    if outcome.module is None:
        raise AiterImportError([outcome.reason]) from outcome.error
    parameters = surface.parameters(FUSED_MOE)
    if parameters is None:
        raise UnsupportedByAiter([f"there is no {FUSED_MOE} in {label}"])
    return NativeCall(outcome.module, parameters, _arguments(call, swiglu_limit), _context_of(call, label))


def invoke(native: NativeCall) -> torch.Tensor:
    """Run the call on AITER.

    Raises:
        Exception: whatever AITER raises, with an `AiterCallError` that names the call as its cause.
    """
    adapter = adapter_for(native.parameters)
    try:
        result: torch.Tensor = adapter(getattr(native.module, FUNCTION), native.arguments)
    except Exception as error:
        native.add_context(error, native.arguments.hidden_states.shape[0])
        raise
    return result


def marked(weight: torch.Tensor, shuffled: bool) -> torch.Tensor:
    """An alias of the weight with AITER's `is_shuffled` mark set; the caller's tensor is not touched.

    The mark is a Python attribute that `nn.Parameter`, `.data` and `.to()` lose, upon which AITER picks other kernels
    (ROCm/aiter#4542), so a stated layout sets it anew.
    """
    alias = weight.view(weight.shape)
    alias.is_shuffled = shuffled  # type: ignore[attr-defined]
    return alias


def _arguments(call: MoECall, swiglu_limit: float | None) -> NativeArguments:
    activation = enum_class("ActivationType")
    quant_type = enum_class("QuantType")
    situv2 = call.activation.function == "situv2"  # always said: None means 1.0 to FlyDSL (quirk situ_defaults_differ)
    return NativeArguments(
        hidden_states=call.hidden_states,
        w1=_as_stated(call.w1, call),
        w2=_as_stated(call.w2, call),
        topk_weight=call.topk_weight,
        topk_ids=call.topk_ids,
        expert_mask=call.expert_mask,
        activation=getattr(activation, str(ACTIVATIONS[call.activation.function])),
        quant_type=getattr(quant_type, str(QUANT_TYPES[call.quant_type])),
        doweight_stage1=call.doweight_stage1,
        w1_scale=call.w1_scale,
        w2_scale=call.w2_scale,
        a1_scale=call.a1_scale,
        a2_scale=call.a2_scale,
        block_size_M=call.block_size_m,
        num_local_tokens=call.num_local_tokens,
        moe_sorting_dispatch_policy=call.moe_sorting_dispatch_policy,
        dtype=call.dtype,
        hidden_pad=call.hidden_pad,
        intermediate_pad=call.intermediate_pad,
        bias1=_fp32(call.bias1),
        bias2=_fp32(call.bias2),
        splitk=call.splitk,
        swiglu_limit=swiglu_limit,
        gate_mode=call.gate_mode,
        beta=call.activation.beta if situv2 else None,
        linear_beta=call.activation.linear_beta if situv2 else None,
        shared_w1=call.shared_w1,
        shared_w2=call.shared_w2,
        shared_w1_scale=call.shared_w1_scale,
        shared_w2_scale=call.shared_w2_scale,
        shared_expert_id=call.shared_expert_id,
        extra={name: value for name, value in call.extra.items() if value is not None},
    )


def _fp32(bias: torch.Tensor | None) -> torch.Tensor | None:
    """The bias as AITER's kernels demand it from v0.1.14 on (`_normalize_bias_for_kernel` in aiter/fused_moe.py)."""
    return bias if bias is None or bias.dtype == torch.float32 else bias.to(torch.float32)


def _as_stated(weight: torch.Tensor, call: MoECall) -> torch.Tensor:
    layout = call.known_layout
    shuffled = layout in ("shuffle_16x16", "a16w4")
    if layout is None or bool(getattr(weight, "is_shuffled", False)) == shuffled:
        return weight
    return marked(weight, shuffled)


def _context_of(call: MoECall, label: str) -> Callable[[Exception, int], None]:
    """Attaches the call to an error of AITER's, as its cause; holds no tensor."""
    described = (
        f"{call.experts} experts, hidden {call.hidden}, intermediate {call.intermediate}, "
        f"{call.activation.function}, {call.quant_type}, gate_mode={call.gate_mode}, layout {call.known_layout}, "
        f"{call.hidden_states.dtype} on {call.hidden_states.device}"
    )

    def add_context(error: Exception, tokens: int) -> None:
        context = AiterCallError(f"while {FUSED_MOE} of {label} ran {tokens} tokens, {described}")
        context.__cause__ = error.__cause__
        error.__cause__ = context

    return add_context
