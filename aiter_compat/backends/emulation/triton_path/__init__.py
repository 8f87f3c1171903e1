"""MXFP4 layers on a Hopper GPU in Triton kernels, exact block by block and without waiting for the device.

`availability` says which calls it serves and imports no Triton; `exact_layer` launches the kernels: one pass places the
slots and rounds the tokens, two grouped products follow, then the sum over a token's slots.
"""

from aiter_compat.backends.emulation.triton_path.availability import triton_refusals
from aiter_compat.backends.emulation.triton_path.running import run_triton

__all__ = ["run_triton", "triton_refusals"]
