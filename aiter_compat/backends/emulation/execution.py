"""Run a request: check it, route it, compute it, round the result once."""

from __future__ import annotations

from collections.abc import Callable

import torch

from aiter_compat.backends.emulation.compiled import moe_compiled, plan_of
from aiter_compat.backends.emulation.expert_bank import ExpertBank, open_bank
from aiter_compat.backends.emulation.request import EmulationRequest
from aiter_compat.backends.emulation.request_checks import check_request
from aiter_compat.backends.emulation.routing import Slots, computed_tokens, route
from aiter_compat.backends.emulation.torch_grouped import moe_grouped
from aiter_compat.backends.emulation.torch_reference import moe_reference


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
    plan = plan_of(request)
    return _all_rows(moe_compiled(request, plan, computed_tokens(request)), request, plan.hidden)


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
    return _all_rows(compute(request, bank, route(request, tokens)), request, bank.hidden)


def _all_rows(computed: torch.Tensor, request: EmulationRequest, hidden: int) -> torch.Tensor:
    """The result with the rows that were not computed, as zeros."""
    if computed.shape[0] == request.hidden_states.shape[0]:
        return computed if computed.dtype == request.out_dtype else computed.to(request.out_dtype)
    result = computed.new_zeros(request.hidden_states.shape[0], hidden, dtype=request.out_dtype)
    result[: computed.shape[0]] = computed
    return result
