"""AITER's fused MoE computed in torch, bit-faithful in every rounding step and readable first.

`run_reference` is the plain path that defines the result; `run` the faster one in torch; `run_compiled` the fastest, on
a CPU with numba, for the calls that `refusals` has nothing against; `run_triton` the fastest on a GPU, for those
that `triton_refusals` has nothing against.
"""

from aiter_compat.backends.emulation.compiled import refusals, warm_up
from aiter_compat.backends.emulation.execution import run, run_compiled, run_reference
from aiter_compat.backends.emulation.request import ActivationSpec, EmulationRequest
from aiter_compat.backends.emulation.triton_path import form_reason, run_triton, triton_refusals

__all__ = [
    "ActivationSpec",
    "EmulationRequest",
    "form_reason",
    "refusals",
    "run",
    "run_compiled",
    "run_reference",
    "run_triton",
    "triton_refusals",
    "warm_up",
]
