"""The functions between the two products; their formulas are those of `emulation.activations`.

The transcendental parts are in fp64, which costs little here and leaves one rounding, that to fp32. The exponential is
written out so that loops over it become vector code; its error, below 1e-11, does not reach fp32.
"""

from math import inf

import numpy as np
from numba import carray
from numba.core import types

from aiter_compat.backends.emulation.compiled.kernels.compiler import SOURCES, inline, separately
from aiter_compat.backends.emulation.compiled.kernels.memory import belongs_to, caller_of, power_of_two

SILU, GELU, GELU_TANH, RELU2, SWIGLU, SWIGLUSTEP, SITUV2 = range(7)

_LOG2_E = 1.4426950408889634
_LN_2_HIGH = 0.693147180369123816490
_LN_2_LOW = 1.90821492927058770002e-10
_SHIFT = 1.5 * 2.0**52
_EXP_BOUND = 700.0
_SQRT_HALF = 0.7071067811865476
_SQRT_2_OVER_PI = 0.7978845608028654
_GELU_CUBIC = 0.044715
_TANH_IS_LINEAR = 1e-5

# Chebyshev coefficients of log(erfc(x) * exp(x^2) / t) in 2t - 1, t = 2 / (2 + x), for x from 0 to 26: fitted with
# mpmath at Chebyshev nodes, error 1.5e-10.
_ERFC = (
    -0.6513268598908547,
    0.6419697923564902,
    0.019476473204185836,
    -0.009561514786808632,
    -0.0009465953444820369,
    0.00036683949785276145,
    4.252332480690777e-05,
    -2.0278578112534215e-05,
    -1.6242900046470851e-06,
    1.3036558355804493e-06,
    1.562644172291075e-08,
    -8.523809591725465e-08,
    6.529054439048821e-09,
    5.0593435237181e-09,
    -9.91364277516752e-10,
    -2.2736502771823787e-10,
)


@inline
def exponential(x):
    """e^x; beyond +-700 that of +-700, NaN for NaN."""
    x = _EXP_BOUND if x > _EXP_BOUND else x
    x = -_EXP_BOUND if x < -_EXP_BOUND else x
    shifted = x * _LOG2_E + _SHIFT
    whole = shifted - _SHIFT
    r = (x - whole * _LN_2_HIGH) - whole * _LN_2_LOW
    series = 1.0 / 5040.0 + r * (1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0)))
    series = 1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * series)))
    return (1.0 + r * (1.0 + r * (0.5 + r * series))) * power_of_two(shifted)


@inline
def sigmoid(x):
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + exponential(-x))


@inline
def hyperbolic_tangent(x):
    """tanh(x); small arguments are their own tangent, where the quotient would cancel."""
    quotient = 1.0 - 2.0 / (exponential(2.0 * x) + 1.0)
    return x if abs(x) < _TANH_IS_LINEAR else quotient


@inline
def complementary_error_function(x):
    """erfc(x)."""
    magnitude = abs(x)
    t = 2.0 / (2.0 + magnitude)
    double = 4.0 * t - 2.0
    later, now = 0.0, 0.0
    for i in range(15, 0, -1):
        later, now = now, _ERFC[i] + double * now - later
    log_ratio = _ERFC[0] + 0.5 * double * now - later
    tail = t * exponential(log_ratio - magnitude * magnitude)
    return 2.0 - tail if x < 0.0 else tail


@inline
def _clamp(values, low, high):
    for i in range(32):
        x = values[i]
        x = high if x > high else x
        values[i] = low if x < low else x  # NaN stays


@inline
def _of_gate(gate, activated, function, alpha, beta):
    if function == RELU2:
        for i in range(32):
            positive = np.float32(0.0) if gate[i] < np.float32(0.0) else gate[i]
            activated[i] = positive * positive
    elif function == GELU:
        for i in range(32):
            x = float(gate[i])
            activated[i] = 0.5 * x * complementary_error_function(-_SQRT_HALF * x)
    elif function == GELU_TANH:
        for i in range(32):
            x = float(gate[i])
            activated[i] = x * sigmoid(2.0 * _SQRT_2_OVER_PI * (x + _GELU_CUBIC * x * x * x))
    elif function == SITUV2:
        for i in range(32):
            x = float(gate[i])
            activated[i] = beta * hyperbolic_tangent(x / beta) * sigmoid(x)
    else:
        slope = alpha if function == SWIGLU else 1.0
        for i in range(32):
            x = float(gate[i])
            activated[i] = x * sigmoid(slope * x)


_FEATURES = types.CPointer(types.float32)
_ARGUMENTS = (
    _FEATURES,
    _FEATURES,
    _FEATURES,
    types.int64,
    types.int64,
    types.float64,
    types.float64,
    types.float32,
    types.float64,
)
call_activate = caller_of(*_ARGUMENTS)


def _build(digest):
    @separately(types.void(*_ARGUMENTS))
    def activate(gate_pointer, up_pointer, activated_pointer, gated, function, alpha, beta, limit, linear_beta):
        """Apply the activation to 32 features.

        Args:
            gate_pointer: fp32 [32], clamped in place.
            up_pointer: fp32 [32], clamped in place; not read when not gated.
            activated_pointer: fp32 [32], written.
            gated: whether there is an up half.
            function: SILU, …
            alpha: as `ActivationSpec`.
            beta: as `ActivationSpec`.
            limit: as `ActivationSpec`, infinite for none; fp32.
            linear_beta: as `ActivationSpec`, 0 for none.
        """
        belongs_to(digest)
        gate, up, activated = carray(gate_pointer, 32), carray(up_pointer, 32), carray(activated_pointer, 32)
        if gated and limit < np.float32(inf):
            _clamp(up, -limit, limit)
            if function != SWIGLUSTEP:
                _clamp(gate, np.float32(-inf), limit)
        _of_gate(gate, activated, function, alpha, beta)
        if not gated:
            return
        if function == SWIGLUSTEP:
            _clamp(activated, np.float32(-inf), limit)
        elif function == SWIGLU:
            for i in range(32):
                up[i] += np.float32(beta)
        elif function == SITUV2 and linear_beta > 0.0:
            for i in range(32):
                up[i] = linear_beta * hyperbolic_tangent(float(up[i]) / linear_beta)
        for i in range(32):
            activated[i] *= up[i]

    return activate


activate = _build(SOURCES)
