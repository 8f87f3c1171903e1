"""Turns the weights that `fused_moe` receives into logical fp32 ones: [E, rows, K], rows [gate; up]."""

import torch

from . import memory_layouts as layouts
from . import number_formats as formats

_TILE = 128


def decode(weight, scale, quant_type, layout, gate_up):
    """[E, N, K] fp32 of one weight.

    Args:
        weight: [E, N, K] floats or fp8, or [E, N, K/2] packed e2m1.
        scale: its scales, None for quant_type "No".
        quant_type: member name of QuantType.
        layout: "logical", "shuffle_16x16" or "a16w4", of weight and scale alike.
        gate_up: for a16w4, whether the rows are two halves that alternate.
    """
    values = formats.elements_to_fp32(_unshuffled(weight, layout, gate_up))
    if quant_type == "No":
        if scale is not None:
            raise ValueError("unquantised weights take no scale")
        return values
    if scale is None:
        raise ValueError(f"{quant_type} weights need a scale")
    experts, rows, columns = values.shape
    if quant_type == "per_1x32":
        bytes_ = _unshuffled_e8m0(scale, experts, rows, columns // formats.BLOCK, layout, gate_up)
        return formats.scale_blocks(values, formats.e8m0_to_fp32(bytes_))
    if quant_type in ("per_Token", "per_Tensor"):
        return values * scale.to(torch.float32).reshape(experts, -1, 1)
    if quant_type in ("per_1x128", "per_128x128"):
        tiles = scale.to(torch.float32).reshape(experts, rows // _TILE, columns // _TILE)
        return values * tiles.repeat_interleave(_TILE, dim=1).repeat_interleave(_TILE, dim=2)
    raise NotImplementedError(f"this stub does not decode {quant_type} weights")


def _unshuffled(weight, layout, gate_up):
    if layout == "logical":
        return weight
    stored = formats.as_bytes(weight) if weight.element_size() == 1 else weight
    if layout == "a16w4":
        return layouts.unshuffle_a16w4(stored, gate_up).view(weight.dtype)
    return layouts.unshuffle_16x16(stored).view(weight.dtype)


def _unshuffled_e8m0(scale, experts, rows, blocks, layout, gate_up):
    stored = formats.as_bytes(scale)
    if layout == "a16w4":
        return layouts.unshuffle_scale_a16w4(stored, experts, rows, blocks, gate_up)
    if layout == "shuffle_16x16":
        return layouts.unshuffle_scale_16x16(stored, experts * rows, blocks).view(experts, rows, blocks)
    return stored.reshape(experts, rows, blocks)
