"""MX layers on a GPU in Triton kernels, without waiting for the device.

`availability` says which calls the path serves, `forms` in which of its four forms; neither imports Triton. The layer
of a form (`exact_layer`, `wide_layer`, `plain_layer`) launches its kernels: slots are placed and tokens rounded, two
grouped products follow, then the sum over a token's slots. `slots_layer` leaves out the placement and multiplies few
slots each by itself.
"""

from aiter_compat.backends.emulation.triton_path.availability import triton_refusals
from aiter_compat.backends.emulation.triton_path.forms import form_reason
from aiter_compat.backends.emulation.triton_path.running import run_triton

__all__ = ["form_reason", "run_triton", "triton_refusals"]
