"""The functions between the two products inside Triton kernels: `emulation.activations` on registers."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _tanh(x):
    # Near 0 the quotient of exponentials loses all digits, the series does not.
    square = x * x
    series = x * (
        1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 + square * (-17.0 / 315.0 + square * (62.0 / 2835.0))))
    )
    shrunk = tl.exp(-2.0 * tl.abs(x))
    quotient = (1.0 - shrunk) / (1.0 + shrunk)
    return tl.where(tl.abs(x) < 0.25, series, tl.where(x < 0, -quotient, quotient))


@triton.jit
def _pointwise(x, NAME: tl.constexpr):
    if NAME == "silu":
        result = x * _sigmoid(x)
    elif NAME == "gelu":
        result = 0.5 * x * (1.0 + tl.math.erf(x * 0.7071067811865476))
    elif NAME == "gelu_tanh":
        result = 0.5 * x * (1.0 + _tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    else:  # relu2
        positive = tl.where(x < 0.0, 0.0, x)
        result = positive * positive
    return result


@triton.jit
def activated(
    gate, up, alpha, beta, limit, linear_beta, NAME: tl.constexpr, GATED: tl.constexpr, LINEAR_BETA: tl.constexpr
):
    """The activation of gate and up values.

    Args:
        gate: fp32 values; the only operand when not gated.
        up: fp32 values of the same shape; not read when not gated.
        alpha: slope inside the sigmoid of "swiglu".
        beta: what "swiglu" adds to the up half, or the gate's saturation of "situv2".
        limit: clamp of gate and up; infinity for none.
        linear_beta: saturation of the up half of "situv2".
        NAME: which function, as in `ActivationSpec`.
        GATED: whether there is an up half.
        LINEAR_BETA: whether `linear_beta` counts.

    Returns:
        fp32 of the same shape.
    """
    if not GATED:
        result = _pointwise(gate, NAME)
    elif NAME == "swiglustep":
        silu = gate * _sigmoid(gate)
        silu = tl.where(silu > limit, limit, silu)
        result = silu * tl.where(up > limit, limit, tl.where(up < -limit, -limit, up))
    else:
        # Comparisons with NaN are false, so that NaN passes through the clamp.
        gate = tl.where(gate > limit, limit, gate)
        up = tl.where(up > limit, limit, tl.where(up < -limit, -limit, up))
        if NAME == "swiglu":
            result = gate * _sigmoid(alpha * gate) * (up + beta)
        elif NAME == "situv2":
            saturated = beta * _tanh(gate / beta) * _sigmoid(gate)
            if LINEAR_BETA:
                up = linear_beta * _tanh(up / linear_beta)
            result = saturated * up
        else:
            result = _pointwise(gate, NAME) * up
    return result
