"""Print the form of the tile kernels and their assembly, for whatever processor numba is told to compile for."""

from aiter_compat.backends.emulation.compiled.kernels import tile_multiplication

print(tile_multiplication.INSTRUCTIONS.name)
print(tile_multiplication.multiply_tile._library.get_asm_str())
