"""SiLU times the up half, on alternating columns, for a GEMM that takes its activation as a function."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def silu_gate(gate_up):
    """[rows, 2*I] fp32 with columns g0, u0, g1, u1 to [rows, I]."""
    gate, up = tl.split(tl.reshape(gate_up, (gate_up.shape[0], gate_up.shape[1] // 2, 2)))
    return gate / (1.0 + tl.exp(-gate)) * up
