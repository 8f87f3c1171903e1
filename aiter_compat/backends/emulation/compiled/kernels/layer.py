"""The whole layer as one compiled function, which every thread that takes part calls with the same numbers.

A step is a list of tasks behind a shared counter. Whoever comes takes the next task; a step is over when its last task
is done, not when some number of threads has arrived. So a thread that starts late, or never, delays nobody, and since
each task computes its own outputs in a fixed order, the bits do not depend on who took it.
"""

import numpy as np
from numba.core import types

from aiter_compat.backends.emulation.compiled.kernels.call_numbers import read_call
from aiter_compat.backends.emulation.compiled.kernels.compiler import SOURCES, compiled, inline
from aiter_compat.backends.emulation.compiled.kernels.memory import (
    belongs_to,
    fetch_add,
    in_use_until_here,
    let_others_run,
    read_shared,
    write_int64,
)
from aiter_compat.backends.emulation.compiled.kernels.slot_order import sort_slots
from aiter_compat.backends.emulation.compiled.kernels.stages import (
    FEATURES_A_TASK,
    TOKENS_A_TASK,
    first_rows,
    first_stage,
    second_stage,
    slot_sums,
)
from aiter_compat.backends.emulation.compiled.kernels.workspace import WORKSPACE_BYTES, workspace_in

# Each shared number has a cache line to itself, or threads would wait for each other's writes.
_LINE = 64
_STEPS = 4
_OCCURRING = 2 * _STEPS * _LINE
_SPINS_BEFORE_YIELD = 2000

_SIGNATURE = types.void(types.int64, types.int64)


@inline
def _next_task(call, step):
    return fetch_add(call.shared + step * _LINE, 1)


@inline
def _finish_task(call, step):
    fetch_add(call.shared + (_STEPS + step) * _LINE, 1)


@inline
def _wait_for(call, step, tasks):
    spins = 0
    while read_shared(call.shared + (_STEPS + step) * _LINE) < tasks:
        spins += 1
        if spins > _SPINS_BEFORE_YIELD:
            let_others_run()


def _build(digest):
    @compiled(_SIGNATURE)
    def run_layer(call_numbers, plan_numbers):
        """Take part in computing a layer; return when all of it is done.

        Args:
            call_numbers: address of `CALL_NUMBERS`, the same for all that take part.
            plan_numbers: address of `PLAN_NUMBERS`.
        """
        belongs_to(digest)
        numbers = (call_numbers, plan_numbers)
        call = read_call(numbers)
        memory = np.empty(WORKSPACE_BYTES, np.uint8)
        workspace = workspace_in(memory.ctypes.data)

        tasks = 1 + (call.tokens + TOKENS_A_TASK - 1) // TOKENS_A_TASK
        task = _next_task(call, 0)
        while task < tasks:
            if task == 0:
                write_int64(call.shared + _OCCURRING, sort_slots(numbers))
            else:
                first_rows(numbers, task - 1, workspace)
            _finish_task(call, 0)
            task = _next_task(call, 0)
        _wait_for(call, 0, tasks)

        occurring = read_shared(call.shared + _OCCURRING)
        blocks = call.intermediate // 32
        tasks = occurring * blocks
        task = _next_task(call, 1)
        while task < tasks:
            first_stage(numbers, task // blocks, task % blocks, workspace)
            _finish_task(call, 1)
            task = _next_task(call, 1)
        _wait_for(call, 1, tasks)

        chunks = (call.hidden + FEATURES_A_TASK - 1) // FEATURES_A_TASK
        tasks = occurring * chunks
        task = _next_task(call, 2)
        while task < tasks:
            second_stage(numbers, task // chunks, task % chunks, workspace)
            _finish_task(call, 2)
            task = _next_task(call, 2)
        _wait_for(call, 2, tasks)

        tasks = (call.tokens + TOKENS_A_TASK - 1) // TOKENS_A_TASK
        totals = np.empty(call.hidden, np.float32)
        task = _next_task(call, 3)
        while task < tasks:
            slot_sums(numbers, task, totals)
            _finish_task(call, 3)
            task = _next_task(call, 3)
        _wait_for(call, 3, tasks)
        in_use_until_here(memory)

    return run_layer


run_layer = _build(SOURCES)
