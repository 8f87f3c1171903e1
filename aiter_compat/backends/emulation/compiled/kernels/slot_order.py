"""Sort the slots of a call by expert; a slot is one (token, choice) pair. As `emulation.routing` does."""

import numpy as np

from aiter_compat.backends.emulation.compiled.kernels.call_numbers import read_call
from aiter_compat.backends.emulation.compiled.kernels.compiler import inline
from aiter_compat.backends.emulation.compiled.kernels.memory import (
    out_of_line,
    read_float32,
    read_int32,
    read_int64,
    write_int64,
)


@inline
def _expert_of(call, slot):
    expert = read_int64(call.topk_ids + 8 * slot) if call.topk_id_bytes == 8 else read_int32(call.topk_ids + 4 * slot)
    if call.local_of_global != 0:
        expert = read_int64(call.local_of_global + 8 * expert) if 0 <= expert < call.global_experts else -1
    if expert < 0 or expert >= call.experts:
        return -1
    if call.skip_zero_weights and read_float32(call.topk_weights + 4 * slot) == np.float32(0.0):
        return -1
    return expert


@inline
def sort_slots(numbers):
    """Write order, position, bounds and occurring experts; stable, so within an expert by token.

    Returns:
        How many experts occur.
    """
    out_of_line()
    call = read_call(numbers)
    slots = call.tokens * call.choices
    start = np.zeros(call.experts + 1, np.int64)
    for slot in range(slots):
        expert = _expert_of(call, slot)
        write_int64(call.position + 8 * slot, expert)
        if expert >= 0:
            start[expert + 1] += 1
    occurring = 0
    write_int64(call.bounds, 0)
    for expert in range(call.experts):
        here = start[expert + 1]
        start[expert + 1] += start[expert]
        if here:
            write_int64(call.occurring + 8 * occurring, expert)
            occurring += 1
            write_int64(call.bounds + 8 * occurring, start[expert + 1])
    for slot in range(slots):
        expert = read_int64(call.position + 8 * slot)
        if expert >= 0:
            write_int64(call.order + 8 * start[expert], slot)
            write_int64(call.position + 8 * slot, start[expert])
            start[expert] += 1
    return occurring
