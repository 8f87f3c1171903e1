"""AITER's fused MoE computed in torch, bit-faithful in every rounding step and readable first.

`run_reference` is the plain path that defines the result; `run` the faster one in torch; `run_compiled` the fastest, on
a CPU with numba, for the calls that `refusals` has nothing against.
"""

from aiter_compat.backends.emulation.compiled import refusals, warm_up
from aiter_compat.backends.emulation.execution import run, run_compiled, run_reference
from aiter_compat.backends.emulation.request import ActivationSpec, EmulationRequest

__all__ = ["ActivationSpec", "EmulationRequest", "refusals", "run", "run_compiled", "run_reference", "warm_up"]
