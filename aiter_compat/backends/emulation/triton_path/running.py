"""Run a request by the Triton kernels. Imports them when the first request comes."""

from __future__ import annotations

import torch

from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.request_checks import check_request
from aiter_compat.backends.emulation.triton_path.availability import triton_refusals
from aiter_compat.errors import UnsupportedByEmulation


@torch.no_grad()
def run_triton(request: EmulationRequest) -> torch.Tensor:
    """Compute a fused MoE call on the GPU of its tensors. Waits for nothing, so that a CUDA graph can hold it.

    Args:
        request: the call; its tensors are not changed. `num_local_tokens` and the routing are read on the device, and
            are not checked: a count above the rows counts all of them.

    Returns:
        [M, H] of `request.out_dtype`.

    Raises:
        InvalidArgument: an argument that has no meaning.
        UnsupportedByEmulation: where `triton_refusals` has reasons.
    """
    check_request(request)
    reasons = triton_refusals(request, request.weight_layout, request.qdq_first, request.qdq_second)
    if reasons:
        raise UnsupportedByEmulation(f"the Triton path does not serve this call: {'; '.join(reasons)}.")
    from aiter_compat.backends.emulation.triton_path.exact_layer import run_exact

    with torch.cuda.device(request.hidden_states.device):
        result: torch.Tensor = run_exact(request)
    return result
