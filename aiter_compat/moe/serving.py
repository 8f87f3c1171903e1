"""Serve a call: validate, decide and run it, and prepare for its like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from aiter_compat.backends.moe_call import MoECall
from aiter_compat.moe.call_front import Front
from aiter_compat.moe.decide import plan_call
from aiter_compat.moe.preparing import prepare
from aiter_compat.moe.run import run_plan
from aiter_compat.prepared_calls import MISSED


def serve(
    front: Front, arguments: Mapping[str, Any], build: Callable[..., MoECall], extra: Mapping[str, Any] | None = None
) -> torch.Tensor:
    """The long way of a call that no prepared one takes.

    Args:
        front: of the public function.
        arguments: all of them, by name.
        build: checks them and puts them into canonical names.
        extra: keywords that the function does not name; such a call is not prepared for.
    """
    calls = front.calls(arguments)
    call = build(**arguments, extra=extra) if extra else build(**arguments)
    plan = plan_call(call)
    result = run_plan(call, plan)
    if not extra:
        prepare(calls, front.form, arguments, call, plan)
    return result


def serve_operator(front: Front, arguments: Mapping[str, Any], build: Callable[..., MoECall]) -> torch.Tensor:
    """The way of a call out of a compiled graph, which has no front: by a prepared call, or the long way."""
    taken = front.form.taken(front.form.is_plain(arguments))
    result = front.calls(arguments).search(tuple(arguments[name] for name in taken))
    if result is MISSED:
        return serve(front, arguments, build)
    found: torch.Tensor = result
    return found
