"""Number formats: packing, scales, and the rounding that each numerics profile prescribes."""

from aiter_compat.formats.catalog import format_names
from aiter_compat.formats.conversion import dequantize, qdq, quantize
from aiter_compat.formats.quantized import Quantized

__all__ = ["Quantized", "dequantize", "format_names", "qdq", "quantize"]
