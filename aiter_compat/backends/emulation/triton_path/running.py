"""Run a request by the Triton kernels. Imports them when the first request comes."""

from __future__ import annotations

from collections.abc import Callable

import torch

from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.request_checks import check_request
from aiter_compat.backends.emulation.triton_path.availability import triton_refusals
from aiter_compat.backends.emulation.triton_path.forms import (
    Form,
    exact_refusals,
    form_of,
    slots_refusals,
    wide_refusals,
)
from aiter_compat.errors import UnsupportedByEmulation

_REFUSALS: dict[Form, Callable[[EmulationRequest], tuple[str, ...]]] = {
    "slots": slots_refusals,
    "exact": exact_refusals,
    "wide": wide_refusals,
}


@torch.no_grad()
def run_triton(request: EmulationRequest, form: Form | None = None) -> torch.Tensor:
    """Compute a fused MoE call on the GPU of its tensors. Waits for nothing, so that a CUDA graph can hold it.

    Args:
        request: the call; its tensors are not changed. `num_local_tokens` and the routing are read on the device, and
            are not checked: a count above the rows counts all of them.
        form: in place of the fastest that serves the call, to compare them; "slots" however many there are.

    Returns:
        [M, H] of `request.out_dtype`.

    Raises:
        InvalidArgument: an argument that has no meaning.
        UnsupportedByEmulation: where `triton_refusals` has reasons, or those of the form that was asked for.
    """
    check_request(request)
    reasons = triton_refusals(request, request.weight_layout, request.qdq_first, request.qdq_second)
    if form in _REFUSALS:
        reasons += _REFUSALS[form](request)
    if reasons:
        raise UnsupportedByEmulation(f"the Triton path does not serve this call: {'; '.join(reasons)}.")
    run_layer = _layer(form or form_of(request))
    with torch.cuda.device(request.hidden_states.device):
        return run_layer(request)


def _layer(form: Form) -> Callable[[EmulationRequest], torch.Tensor]:
    if form == "slots":
        from aiter_compat.backends.emulation.triton_path.slots_layer import run_slots

        return run_slots
    if form == "exact":
        from aiter_compat.backends.emulation.triton_path.exact_layer import run_exact

        return run_exact
    if form == "wide":
        from aiter_compat.backends.emulation.triton_path.wide_layer import run_wide

        return run_wide
    from aiter_compat.backends.emulation.triton_path.plain_layer import run_plain

    return run_plain
