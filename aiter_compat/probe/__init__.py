"""The static surface of an AITER: symbols, signatures and enum members, read from files without importing them."""

from aiter_compat.probe.model import Surface, Symbol
from aiter_compat.probe.parameters import Parameter
from aiter_compat.probe.surface_of import probe

__all__ = ["Parameter", "Surface", "Symbol", "probe"]
