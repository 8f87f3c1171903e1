"""The default path computes what the plain one does, in memory that does not grow with the number of experts."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from aiter_compat.backends.emulation import ActivationSpec, run, run_reference, torch_grouped, torch_reference
from aiter_compat.formats import quantize
from aiter_compat.layouts import shuffle_16x16, shuffle_a16w4, shuffle_scale_a16w4, shuffle_scale_e8m0

BOUND = 1e-5
FORMATS = ["none", "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2", "fp8_tensor", "fp8_token", "fp8_cast"]


@pytest.mark.parametrize("qdq", FORMATS)
@pytest.mark.parametrize("tokens", [1, 4, 33])
def test_agrees_with_the_plain_path(make_layer, relative_error, tokens, qdq):
    request = make_layer(seed=tokens, tokens=tokens, experts=8, top_k=3, qdq_first=qdq, qdq_second=qdq).request
    assert relative_error(run(request), run_reference(request)) <= BOUND


@pytest.mark.parametrize("weight_format", ["mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2"])
@pytest.mark.parametrize("qdq", ["none", "mxfp4", "mxfp6_e3m2", "mxfp8"])
def test_every_pair_of_weight_and_activation_format(make_layer, relative_error, weight_format, qdq):
    generator = torch.Generator().manual_seed(4)
    w1 = quantize(torch.randn(4, 192, 64, generator=generator) / 8, weight_format)
    w2 = quantize(torch.randn(4, 64, 96, generator=generator) / 8, weight_format)
    request = make_layer(
        w1=w1.codes,
        w2=w2.codes,
        w1_scale=w1.scales,
        w2_scale=w2.scales,
        weight_format=weight_format,
        qdq_first=qdq,
        qdq_second=qdq,
    ).request
    assert relative_error(run(request), run_reference(request)) <= BOUND


def test_both_paths_round_to_the_same_codes(make_layer, monkeypatch):
    """Bit for bit: what the second GEMM reads, slot by slot."""
    request = make_layer(tokens=33, experts=8, top_k=3).request
    seen = {}
    for module in (torch_grouped, torch_reference):
        original = module.second_operand

        def recording(activated, request, *, name=module.__name__, original=original):
            seen[name] = original(activated, request)
            return seen[name]

        monkeypatch.setattr(module, "second_operand", recording)
    run(request)
    run_reference(request)
    grouped, plain = seen[torch_grouped.__name__], seen[torch_reference.__name__]
    order = torch.sort(request.topk_ids.reshape(-1), stable=True).indices
    assert torch.equal(grouped, plain.view(-1, 96)[order])


@pytest.mark.parametrize("layout", ["shuffle_16x16", "a16w4"])
def test_shuffled_weights_give_the_result_of_logical_ones(make_layer, layout):
    request = make_layer(tokens=7, hidden=256, intermediate=256).request
    if layout == "a16w4":
        shuffled = {
            "w1": shuffle_a16w4(request.w1, True),
            "w2": shuffle_a16w4(request.w2, False),
            "w1_scale": shuffle_scale_a16w4(request.w1_scale, None, True),
            "w2_scale": shuffle_scale_a16w4(request.w2_scale, None, False),
        }
    else:
        shuffled = {
            "w1": shuffle_16x16(request.w1),
            "w2": shuffle_16x16(request.w2),
            "w1_scale": shuffle_scale_e8m0(request.w1_scale),
            "w2_scale": shuffle_scale_e8m0(request.w2_scale),
        }
    assert torch.equal(run(replace(request, weight_layout=layout, **shuffled)), run(request))


class AllocatedBytes(TorchDispatchMode):
    """Adds up the bytes of every tensor that an operation returns in memory of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        known = {
            value.untyped_storage().data_ptr()
            for value in [*args, *(kwargs or {}).values()]
            if isinstance(value, torch.Tensor)
        }
        if isinstance(result, torch.Tensor) and result.untyped_storage().data_ptr() not in known:
            self.total += result.untyped_storage().nbytes()
        return result


@pytest.mark.parametrize("layout", ["logical", "shuffle_16x16", "a16w4"])
def test_memory_does_not_grow_with_the_number_of_experts(make_layer, layout):
    """Shuffled weights included: only the experts that occur are laid out again."""
    allocated = []
    for experts in (4, 12):
        request = make_layer(tokens=3, experts=experts, hidden=256, intermediate=256, weight_layout=layout).request
        request = replace(request, topk_ids=torch.tensor([[0, 1], [2, 3], [1, 2]], dtype=torch.int32))
        with AllocatedBytes() as counter:
            run(request)
        allocated.append(counter.total)
    assert allocated[0] == allocated[1] > 0


@pytest.mark.parametrize("compute", [run, run_reference])
def test_inputs_are_left_as_they_were(make_layer, compute):
    request = make_layer(tokens=7, expert_mask=torch.tensor([1, 1, 0, 1, 1])).request
    before = {field.name: _copy(getattr(request, field.name)) for field in fields(request)}
    compute(request)
    for name, value in before.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(getattr(request, name), value), name


def _copy(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


def test_weights_that_require_gradients_are_taken_and_the_result_has_none(make_layer):
    w1, w2 = (torch.nn.Parameter(torch.randn(4, *shape)) for shape in ((192, 64), (64, 96)))
    request = make_layer(
        w1=w1,
        w2=w2,
        w1_scale=None,
        w2_scale=None,
        quant_type="no",
        weight_format="unquantised",
        qdq_first="none",
        qdq_second="none",
    ).request
    result = run(request)
    assert not result.requires_grad
    assert result.abs().sum() > 0


def test_parts_of_larger_tensors_are_read_in_place(make_layer, relative_error):
    """A host may pass slices: of a batch, of a stack of layers, of a transposed routing result."""
    request = make_layer(tokens=7, activation=ActivationSpec("silu")).request
    wide = torch.cat([request.hidden_states, request.hidden_states], dim=1)[:, :64]
    sliced = replace(
        request,
        hidden_states=wide,
        w1=torch.stack([request.w1, request.w1], dim=1)[:, 0],
        w2=request.w2.transpose(1, 2).contiguous().transpose(1, 2),
        w2_scale=request.w2_scale.transpose(1, 2).contiguous().transpose(1, 2),
        topk_ids=request.topk_ids.t().contiguous().t(),
    )
    assert relative_error(run(sliced), run(request)) <= BOUND
