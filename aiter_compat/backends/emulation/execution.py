"""Run a request: check it, route it, compute it, round the result once."""

from __future__ import annotations

from collections.abc import Callable

import torch

from aiter_compat.backends.emulation.compiled import moe_compiled, refusals
from aiter_compat.backends.emulation.expert_bank import ExpertBank, open_bank
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.request_checks import check_request
from aiter_compat.backends.emulation.routing import Slots, computed_tokens, route
from aiter_compat.backends.emulation.torch_grouped import moe_grouped
from aiter_compat.backends.emulation.torch_reference import moe_reference
from aiter_compat.errors import UnsupportedByEmulation


def run(request: EmulationRequest) -> torch.Tensor:
    """Compute a fused MoE call in torch, on the device of its tensors.

    Args:
        request: the call; its tensors are not changed.

    Returns:
        [M, H] of `request.out_dtype`. A token without a slot on this rank is 0, and so is a row from
        `num_local_tokens` on.

    Raises:
        InvalidArgument: an argument that has no meaning.
        UnsupportedByEmulation: a combination that is meaningful elsewhere but not defined here.
    """
    return _run(request, moe_grouped)


def run_compiled(request: EmulationRequest) -> torch.Tensor:
    """The same by the compiled kernels. Arguments, result and errors as `run`.

    Raises:
        UnsupportedByEmulation: also where `compiled.refusals` has reasons.
    """
    check_request(request)
    reasons = refusals(request, request.weight_layout, request.qdq_first, request.qdq_second)
    if reasons:
        raise UnsupportedByEmulation(f"the compiled path does not serve this call: {'; '.join(reasons)}.")
    bank = open_bank(request)
    tokens = computed_tokens(request)
    return _all_rows(moe_compiled(request, bank, tokens), request, bank)


def run_reference(request: EmulationRequest) -> torch.Tensor:
    """The same by the plain reference: slow, decodes whole matrices, easy to follow. Arguments, result as `run`."""
    return _run(request, moe_reference)


@torch.no_grad()
def _run(
    request: EmulationRequest, compute: Callable[[EmulationRequest, ExpertBank, Slots], torch.Tensor]
) -> torch.Tensor:
    check_request(request)
    bank = open_bank(request)
    tokens = computed_tokens(request)
    return _all_rows(compute(request, bank, route(request, tokens)), request, bank)


def _all_rows(computed: torch.Tensor, request: EmulationRequest, bank: ExpertBank) -> torch.Tensor:
    """The result with the rows that were not computed, as zeros."""
    if computed.shape[0] == request.hidden_states.shape[0]:
        return computed.to(request.out_dtype)
    result = computed.new_zeros(request.hidden_states.shape[0], bank.hidden, dtype=request.out_dtype)
    result[: computed.shape[0]] = computed
    return result
