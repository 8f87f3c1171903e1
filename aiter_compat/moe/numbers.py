"""Translate an activation's numbers, in AITER's and the hosts' spellings, to one meaning."""

from __future__ import annotations

import math

from aiter_compat.backends.moe_call import ActivationNumbers
from aiter_compat.errors import InvalidArgument
from aiter_compat.layer_config import HOST_ACTIVATIONS
from aiter_compat.layer_config.real_numbers import is_number

_DEFAULTS = {name: HOST_ACTIVATIONS[name] for name in ("silu", "gelu", "gelu_tanh", "swiglustep", "situv2", "relu2")}
_DEFAULTS["swiglu"] = HOST_ACTIVATIONS["swigluoai_uninterleave"]
_CLAMPED = ("silu", "gelu", "gelu_tanh", "swiglu", "swiglustep")


def activation_numbers(
    function: str,
    *,
    gated: bool,
    limit: float | None,
    alpha: float | None = None,
    beta: float | None = None,
    linear_beta: float | None = None,
    limit_argument: str = "swiglu_limit",
) -> ActivationNumbers:
    """The numbers in force for an activation.

    Args:
        function: canonical activation name.
        gated: whether w1 has an up half.
        limit: None or 0.0: the activation's own (7.0 for SwiGLU-OAI and SwiGLU-step, none otherwise). Hosts pass 0.0 to
            v0.1.14 to v0.1.16 to mean "default", and it keeps that meaning on every release. `math.inf`: no clamp.
        alpha: None: the activation's own.
        beta: None: the activation's own.
        linear_beta: None: the activation's own.
        limit_argument: name of the limit in the caller's API, for errors.

    Raises:
        InvalidArgument: a number is NaN, negative where a bound is meant, or belongs to another activation.
    """
    own = _DEFAULTS[function]
    default_limit = own.limit if gated else None
    clamp = _limit(limit, default_limit, function, gated, limit_argument)
    for name, value, has_it in (
        ("alpha", alpha, own.alpha is not None),
        ("beta", beta, own.beta is not None),
        ("linear_beta", linear_beta, own.linear_beta is not None),
    ):
        if value is None:
            continue
        if not has_it:
            raise InvalidArgument(name, value, f"None for {function}, whose formula has no {name}")
        if not is_number(value) or not math.isfinite(value) or (function == "situv2" and value <= 0.0):
            raise InvalidArgument(name, value, "None or a finite number" + (" above 0" if function == "situv2" else ""))
    numbers = (
        own.alpha if alpha is None else alpha,
        own.beta if beta is None else beta,
        own.linear_beta if linear_beta is None else linear_beta,
    )
    return ActivationNumbers(
        function=function,
        gated=gated,
        alpha=numbers[0] if numbers[0] is not None else 1.0,
        beta=numbers[1] if numbers[1] is not None else 0.0,
        linear_beta=numbers[2],
        limit=clamp,
        default_limit=default_limit,
        constants_are_default=numbers == (own.alpha, own.beta, own.linear_beta),
    )


def _limit(limit: float | None, default: float | None, function: str, gated: bool, argument: str) -> float | None:
    if limit is None:
        return default
    if not is_number(limit) or not limit >= 0.0:
        raise InvalidArgument(
            argument, limit, "None, 0.0 (both: the activation's own), a positive number, or math.inf for no clamp"
        )
    if limit == 0.0:
        return default
    if limit != math.inf and (function not in _CLAMPED or not gated):
        form = function if gated else f"{function} without an up half"
        raise InvalidArgument(argument, limit, f"None for {form}, which has no clamp")
    return None if limit == math.inf else float(limit)
