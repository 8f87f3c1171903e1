"""The steps of a layer, each cut into tasks that any thread may take; what a task writes, no other task does."""

import numpy as np

from aiter_compat.backends.emulation.compiled.kernels.activation_math import call_activate
from aiter_compat.backends.emulation.compiled.kernels.block_rounding import call_store_block, row_bytes
from aiter_compat.backends.emulation.compiled.kernels.call_numbers import read_call
from aiter_compat.backends.emulation.compiled.kernels.compiler import inline
from aiter_compat.backends.emulation.compiled.kernels.memory import (
    out_of_line,
    read_float32,
    read_int64,
    read_uint16,
    write_float32,
    write_int64,
    write_uint16,
)
from aiter_compat.backends.emulation.compiled.kernels.number_formats import (
    BF16,
    FP16,
    FP32,
    bf16_pattern,
    bf16_value,
    fp16_pattern,
    fp16_value,
    rounded_to_16_bits,
    rounded_to_fp16,
)
from aiter_compat.backends.emulation.compiled.kernels.tile_multiplication import (
    GROUP_ROWS,
    TILE_ROWS,
    call_multiply_tile,
)
from aiter_compat.backends.emulation.compiled.kernels.workspace import (
    SLOTS_AT_ONCE,
    SUMS_OF_TILE,
    floats_of,
    sums_of,
)

TOKENS_A_TASK = 4
FEATURES_A_TASK = 64


@inline
def _read(address, kind, index):
    if kind == BF16:
        return bf16_value(read_uint16(address + 2 * index))
    if kind == FP16:
        return fp16_value(read_uint16(address + 2 * index))
    return read_float32(address + 4 * index)


@inline
def _read_block(address, kind, index, target):
    out_of_line()
    values = floats_of(target)
    if kind == BF16:
        for i in range(32):
            values[i] = bf16_value(read_uint16(address + 2 * (index + i)))
    elif kind == FP16:
        for i in range(32):
            values[i] = fp16_value(read_uint16(address + 2 * (index + i)))
    else:
        for i in range(32):
            values[i] = read_float32(address + 4 * (index + i))


@inline
def _store_block(call, rounding, rule, row, columns, block, workspace):
    arrays = (workspace.values, workspace.integers)
    call_store_block(call.store_block, (*arrays, rounding, rule, np.float32(call.amax_floor), row, columns, block))


@inline
def first_rows(numbers, task, workspace):
    """Round the hidden states of some tokens."""
    out_of_line()
    call = read_call(numbers)
    size = row_bytes(call.hidden, call.rounding1)
    for token in range(task * TOKENS_A_TASK, min((task + 1) * TOKENS_A_TASK, call.tokens)):
        source = call.hidden_states + token * call.hidden_row_bytes
        row = call.rows1 + token * size
        for block in range(call.hidden // 32):
            _read_block(source, call.hidden_kind, 32 * block, workspace.values)
            _store_block(call, call.rounding1, call.rule1, row, call.hidden, block, workspace)


@inline
def first_stage(numbers, part, block, workspace):
    """32 intermediate features of all slots of one expert: product, bias, activation, rounding.

    Args:
        numbers: addresses of the numbers of the call and of its plan.
        part: number of the expert among those that occur.
        block: features 32 * block and following.
        workspace: of this thread.
    """
    out_of_line()
    call = read_call(numbers)
    expert = read_int64(call.occurring + 8 * part)
    begin, end = read_int64(call.bounds + 8 * part), read_int64(call.bounds + 8 * part + 8)
    features = call.intermediate * (2 if call.gated else 1)
    blocks = call.hidden // 32
    codes = call.w1 + expert * call.w1_expert_bytes
    scales = call.w1_scale + expert * features * blocks
    step = call.gate_row_step
    size = row_bytes(call.hidden, call.rounding1)
    for start in range(begin, end, SLOTS_AT_ONCE):
        count = min(SLOTS_AT_ONCE, end - start)
        for i in range(count):
            token = read_int64(call.order + 8 * (start + i)) // call.choices
            write_int64(workspace.rows + 8 * i, call.rows1 + token * size)
        for tile in range(4 if call.gated else 2):
            if call.gated:
                row0 = (32 * block + GROUP_ROWS * tile) * step
                row1 = call.first_up_row + row0
            else:
                row0 = 32 * block + TILE_ROWS * tile
                row1 = row0 + GROUP_ROWS
            call_multiply_tile(
                call.multiply_tile,
                (
                    codes + row0 * call.w1_row_bytes,
                    codes + row1 * call.w1_row_bytes,
                    step * call.w1_row_bytes,
                    scales + row0 * blocks,
                    scales + row1 * blocks,
                    step * blocks,
                    call.hidden,
                    call.rounding1,
                    workspace.rows,
                    count,
                    workspace.sums + tile * SUMS_OF_TILE,
                    workspace.tile,
                ),
            )
        for i in range(count):
            _first_epilogue(numbers, expert, block, start + i, i, workspace)


@inline
def _first_epilogue(numbers, expert, block, place, index, workspace):
    out_of_line()
    call = read_call(numbers)
    gate, up, values = floats_of(workspace.gate), floats_of(workspace.up), floats_of(workspace.values)
    sums = sums_of(workspace)
    weight = read_float32(call.topk_weights + 4 * read_int64(call.order + 8 * place))
    for tile in range(4 if call.gated else 2):
        for lane in range(GROUP_ROWS):
            if call.gated:
                gate[GROUP_ROWS * tile + lane] = sums[tile, index, lane]
                up[GROUP_ROWS * tile + lane] = sums[tile, index, GROUP_ROWS + lane]
            else:
                gate[TILE_ROWS * tile + lane] = sums[tile, index, lane]
                gate[TILE_ROWS * tile + GROUP_ROWS + lane] = sums[tile, index, GROUP_ROWS + lane]
    if call.weight_before_bias:
        for i in range(32):
            gate[i] *= weight
            up[i] *= weight
    if call.bias1 != 0:
        first = expert * call.intermediate * (2 if call.gated else 1)
        for i in range(32):
            row = first + (32 * block + i) * call.gate_row_step
            gate[i] += _read(call.bias1, call.bias1_kind, row)
            if call.gated:
                up[i] += _read(call.bias1, call.bias1_kind, row + call.first_up_row)
    arrays = (workspace.gate, workspace.up, workspace.values)
    constants = (call.alpha, call.beta, np.float32(call.limit), call.linear_beta)
    call_activate(call.activate, (*arrays, call.gated, call.activation, *constants))
    if call.weight_after_activation:
        for i in range(32):
            values[i] *= weight
    if call.activated_kind != FP32:
        for i in range(32):
            values[i] = rounded_to_16_bits(values[i], call.activated_kind)
    row = call.rows2 + place * row_bytes(call.intermediate, call.rounding2)
    _store_block(call, call.rounding2, call.rule2, row, call.intermediate, block, workspace)


@inline
def second_stage(numbers, part, chunk, workspace):
    """Some output features of all slots of one expert: product, bias, routing weight."""
    out_of_line()
    call = read_call(numbers)
    expert = read_int64(call.occurring + 8 * part)
    begin, end = read_int64(call.bounds + 8 * part), read_int64(call.bounds + 8 * part + 8)
    blocks = call.intermediate // 32
    codes = call.w2 + expert * call.w2_expert_bytes
    scales = call.w2_scale + expert * call.hidden * blocks
    size = row_bytes(call.intermediate, call.rounding2)
    sums = sums_of(workspace)[0]
    for start in range(begin, end, SLOTS_AT_ONCE):
        count = min(SLOTS_AT_ONCE, end - start)
        for i in range(count):
            write_int64(workspace.rows + 8 * i, call.rows2 + (start + i) * size)
        for row in range(chunk * FEATURES_A_TASK, min((chunk + 1) * FEATURES_A_TASK, call.hidden), TILE_ROWS):
            call_multiply_tile(
                call.multiply_tile,
                (
                    codes + row * call.w2_row_bytes,
                    codes + (row + GROUP_ROWS) * call.w2_row_bytes,
                    call.w2_row_bytes,
                    scales + row * blocks,
                    scales + (row + GROUP_ROWS) * blocks,
                    blocks,
                    call.intermediate,
                    call.rounding2,
                    workspace.rows,
                    count,
                    workspace.sums,
                    workspace.tile,
                ),
            )
            if call.bias2 != 0:
                for lane in range(TILE_ROWS):
                    bias = _read(call.bias2, call.bias2_kind, expert * call.hidden + row + lane)
                    for i in range(count):
                        sums[i, lane] += bias
            for i in range(count):
                weight = np.float32(1.0)
                if call.weight_in_stage2:
                    weight = read_float32(call.topk_weights + 4 * read_int64(call.order + 8 * (start + i)))
                target = call.results + 4 * ((start + i) * call.hidden + row)
                for lane in range(TILE_ROWS):
                    value = rounded_to_16_bits(sums[i, lane] * weight, call.slot_kind)
                    write_float32(target + 4 * lane, value)


@inline
def slot_sums(numbers, task, totals):
    """Add up the slots of some tokens in the order of their choices, and round."""
    out_of_line()
    call = read_call(numbers)
    for token in range(task * TOKENS_A_TASK, min((task + 1) * TOKENS_A_TASK, call.tokens)):
        totals[:] = np.float32(0.0)
        for choice in range(call.choices):
            place = read_int64(call.position + 8 * (token * call.choices + choice))
            if place < 0:
                continue
            source = call.results + 4 * place * call.hidden
            if call.sum_kind == FP32:
                for i in range(call.hidden):
                    totals[i] += read_float32(source + 4 * i)
            else:
                for i in range(call.hidden):
                    totals[i] = rounded_to_16_bits(totals[i] + read_float32(source + 4 * i), call.sum_kind)
        first = token * call.hidden
        if call.out_kind == BF16:
            for i in range(call.hidden):
                write_uint16(call.out + 2 * (first + i), np.uint16((bf16_pattern(totals[i]) >> 16) & 0xFFFF))
        elif call.out_kind == FP16:
            for i in range(call.hidden):
                write_uint16(call.out + 2 * (first + i), np.uint16(fp16_pattern(rounded_to_fp16(totals[i]))))
        else:
            for i in range(call.hidden):
                write_float32(call.out + 4 * (first + i), totals[i])
