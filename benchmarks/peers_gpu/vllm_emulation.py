"""vLLM's OCP MX emulation (`fused_moe/experts/ocp_mx_emulation_moe.py`, 0.33.0) with a fast decode kernel.

There every call decodes w1 and w2 of all experts to bf16, through amd-quark, and passes them to the Triton experts of
unquantised models, which round the activations on the way. Here one Triton kernel decodes at the speed of memory, and
the activation function and its rounding are one kernel instead of two.
"""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation import EmulationRequest
from benchmarks.peers_gpu.bf16_experts import Bf16Experts, decode_experts, experts


class VllmEmulation:
    """Decodes in every call, into memory that is kept between calls."""

    name = "vLLM's emulation, fast decode"

    def __init__(self, kept: Bf16Experts) -> None:
        self._kept = kept

    def call(self, request: EmulationRequest) -> torch.Tensor:
        """[M, H] bf16."""
        decode_experts(request, self._kept.w1, self._kept.w2)
        return experts(request, self._kept.w1, self._kept.w2)
