"""What Python takes from the kernels: importing this module compiles them, or loads them from numba's cache."""

from aiter_compat.backends.emulation.compiled.kernels.activation_math import activate
from aiter_compat.backends.emulation.compiled.kernels.block_rounding import store_block
from aiter_compat.backends.emulation.compiled.kernels.layer import run_layer
from aiter_compat.backends.emulation.compiled.kernels.tile_multiplication import multiply_tile
from aiter_compat.backends.emulation.compiled.layer_call import LayerKernel


def layer_kernel():
    """The entry point, and the addresses of what it calls."""
    return LayerKernel(run_layer, multiply_tile.address, store_block.address, activate.address)
