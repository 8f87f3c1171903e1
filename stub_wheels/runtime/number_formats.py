"""Decodes stored weights and activations to fp32 by table: e2m1 pairs, e8m0 scale bytes, fp8."""

import torch

_E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
_E2M1_SIGNED = torch.cat([_E2M1, -_E2M1])  # bit 3 of a code is its sign
_E8M0 = torch.tensor([2.0 ** (byte - 127) for byte in range(255)] + [float("nan")])
BLOCK = 32
"""Elements that share one e8m0 scale."""


def as_bytes(tensor):
    """The same memory as uint8, whatever one-byte dtype it has."""
    if tensor.element_size() != 1:
        raise TypeError(f"expected one byte an element, got {tensor.dtype}")
    return tensor.view(torch.uint8)


def is_packed_e2m1(tensor):
    """True for two 4-bit codes a byte (low nibble first)."""
    return tensor.dtype in (torch.uint8, torch.float4_e2m1fn_x2)


def e2m1_pairs_to_fp32(packed):
    """[..., K/2] bytes -> [..., K] fp32."""
    codes = as_bytes(packed).to(torch.int64)
    pairs = torch.stack([codes & 15, codes >> 4], dim=-1)
    return _E2M1_SIGNED.to(packed.device)[pairs].flatten(-2)


def e8m0_to_fp32(scales):
    """Power-of-two scales from their bytes; 255 is NaN."""
    return _E8M0.to(scales.device)[as_bytes(scales).to(torch.int64)]


def elements_to_fp32(stored):
    """[..., K] fp32 from packed e2m1 [..., K/2], or from any float dtype [..., K]."""
    return e2m1_pairs_to_fp32(stored) if is_packed_e2m1(stored) else stored.to(torch.float32)


def scale_blocks(values, scales):
    """Multiply each run of 32 values along the last dimension by its scale."""
    return values * scales.repeat_interleave(BLOCK, dim=-1)
