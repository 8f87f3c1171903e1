"""Memory of calls is used again, and never while somebody may still read or write it."""

import dataclasses

import pytest
import torch

from aiter_compat.backends.emulation import run, run_compiled
from aiter_compat.backends.emulation.compiled import call_memory
from aiter_compat.backends.emulation.compiled.call_memory import CallMemory
from aiter_compat.backends.emulation.compiled.helpers import HELPERS
from aiter_compat.backends.emulation.compiled.layer_call import CALL_FIELDS, CALL_NUMBERS
from aiter_compat.errors import InvalidArgument


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(call_memory, "_kept", [])


def test_memory_goes_to_the_next_call():
    first = CallMemory(1000)
    place = first.scratch
    del first
    assert CallMemory(2000).scratch == place


def test_two_calls_at_once_have_memory_of_their_own():
    CallMemory(1000)  # one piece is kept
    one, other = CallMemory(1000), CallMemory(1000)
    assert one.scratch != other.scratch
    assert one.numbers != other.numbers


def test_more_than_was_kept_is_new_memory():
    CallMemory(1000)
    size = 500_000
    memory = CallMemory(size)
    assert memory._memory.scratch.numel() >= size
    assert memory.scratch % 64 == memory.numbers % 64 == 0


def test_little_is_kept():
    del (memories := [CallMemory(1000) for _ in range(100)])[:]
    CallMemory(10 << 20)
    kept = sum(memory.scratch.numel() for memory in call_memory._kept)
    assert memories == []
    assert 0 < kept <= 16 << 20


def test_what_threads_share_begins_anew():
    memory = CallMemory(1000)
    memory.write_numbers(*range(CALL_FIELDS))
    offset, numbers = memory._memory.numbers_offset, memory._memory.numbers
    numbers[offset : offset + 8] = b"\xff" * 8
    memory.write_numbers(*range(CALL_FIELDS))
    assert CALL_NUMBERS.unpack_from(numbers, offset) == tuple(range(CALL_FIELDS))
    assert numbers[offset : offset + 8] == bytes(8)


def test_a_late_helper_does_not_see_the_calls_that_came_after(request_of, threads, monkeypatch):
    requests = [request_of(20, seed=seed) for seed in range(3)]
    expected = [run_compiled(request) for request in requests]
    threads(2)
    late = []
    monkeypatch.setattr(HELPERS, "offer", lambda job, count: late.append(job))
    results = []
    for request in requests:
        results.append(run_compiled(request))
        for job in late:  # also those of calls that are over
            job()
    assert all(map(torch.equal, results, expected))


def test_a_kept_scratch_is_not_read_before_it_is_written(request_of):
    large, small = request_of(40, seed=1), request_of(3, seed=2)
    expected = run_compiled(small)
    for value in (0x00, 0xFF):
        run_compiled(large)
        for memory in call_memory._kept:
            memory.scratch.fill_(value)
        assert torch.equal(run_compiled(small), expected)


@pytest.mark.parametrize("changed", ["w1", "w2", "w1_scale", "topk_ids", "hidden_states"])
def test_a_tensor_of_another_shape_is_noticed_in_the_same_object(request_of, changed):
    """Layers are told apart by shapes, strides and dtypes at every call, not by objects, which may be given others."""
    request = request_of(4)
    run_compiled(request)
    tensor = getattr(request, changed)
    tensor.data = tensor.data[..., : tensor.shape[-1] // 2].contiguous()
    with pytest.raises(InvalidArgument):
        run_compiled(request)


def test_other_values_in_the_same_tensors_are_read(request_of):
    request = request_of(4)
    run_compiled(request)
    other = request_of(4, seed=7)
    for name in ("hidden_states", "w1", "w2", "w1_scale", "w2_scale", "topk_weight", "topk_ids"):
        getattr(request, name).data = getattr(other, name)
    assert torch.equal(run_compiled(request), run_compiled(other))


def test_tensors_that_are_not_read_as_they_lie(request_of):
    request = request_of(6, hidden_dtype=torch.float32)
    wide = torch.zeros(6, 2 * request.hidden_states.shape[1])
    wide[:, ::2] = request.hidden_states
    apart = dataclasses.replace(
        request,
        hidden_states=wide[:, ::2],
        topk_ids=request.topk_ids.to(torch.int16),
        topk_weight=request.topk_weight.double().t().contiguous().t(),
    )
    assert torch.equal(run_compiled(apart), run_compiled(request))
    rows_apart = dataclasses.replace(apart, hidden_states=torch.cat([request.hidden_states] * 2, 1)[:, :96])
    assert torch.equal(run_compiled(rows_apart), run_compiled(request))
    torch.testing.assert_close(run_compiled(apart), run(request), rtol=1e-4, atol=1e-4)
