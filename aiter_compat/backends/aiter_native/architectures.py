"""Which devices `backend="auto"` sends to AITER.

`backend="aiter"` does not ask: there the device is AITER's own business. The table is conservative: an architecture
that AITER's sources do not name for a quant type goes to the emulation with this reason.
"""

from __future__ import annotations

import torch

# aiter/fused_moe.py dispatch tables and chip_info at v0.1.13.post1 to v0.1.20.post1. MXFP4 on gfx942 is refused by
# hosts too (vllm-project/vllm#34641).
_ARCHITECTURES = {
    "no": ("gfx90a", "gfx942", "gfx950", "gfx1250"),
    "per_tensor": ("gfx942", "gfx950", "gfx1250"),
    "per_token": ("gfx942", "gfx950", "gfx1250"),
    "per_1x128": ("gfx942", "gfx950", "gfx1250"),
    "per_128x128": ("gfx942", "gfx950", "gfx1250"),
    "per_1x32": ("gfx950", "gfx1250"),
}


def device_refusal(device: torch.device, quant_type: str) -> str | None:
    """Why a tensor on `device` is not AITER's to compute, or None when it is."""
    if device.type != "cuda":
        return f"hidden_states is on {device.type}; AITER runs on ROCm GPUs"
    if torch.version.hip is None:
        return "this build of torch drives NVIDIA GPUs; AITER runs on ROCm GPUs"
    arch = architecture(device)
    known = _ARCHITECTURES.get(quant_type, ())
    if arch not in known:
        return f"AITER's {quant_type} kernels are known for {', '.join(known) or 'no architecture'}, not for {arch}"
    return None


def architecture(device: torch.device) -> str:
    """The gfx name of a ROCm device ("gfx950"); "gfx950" elsewhere, the one that the emulation stands for."""
    if device.type != "cuda" or torch.version.hip is None:
        return "gfx950"
    name: str = torch.cuda.get_device_properties(device).gcnArchName
    return name.partition(":")[0]
