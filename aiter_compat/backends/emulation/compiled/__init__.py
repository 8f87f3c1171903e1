"""MXFP4 layers on a CPU by integer kernels that never decode the weights to floats; needs numba (the extra `cpu`).

After an MXFP4 quantise-dequantise both operands are integers within +-12 times a power of two, so a block of 32 has an
exact dot product in 16 bits. Weights stay as the checkpoint has them; nothing is copied or cached. Importing this
package imports no compiler: that happens at the first call, or in `warm_up`.
"""

from aiter_compat.backends.emulation.compiled.availability import refusals
from aiter_compat.backends.emulation.compiled.layer_execution import moe_compiled
from aiter_compat.backends.emulation.compiled.layer_plan import plan_of
from aiter_compat.backends.emulation.compiled.loading import warm_up

__all__ = ["moe_compiled", "plan_of", "refusals", "warm_up"]
