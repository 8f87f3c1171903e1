"""Weights kept decoded between calls never outlive a change of the weights, and never take more than was allowed."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace

import pytest
import torch

import aiter_compat as ac
from aiter_compat.backends.emulation import decoded_weights, run
from aiter_compat.backends.emulation.content_fingerprint import fingerprint
from aiter_compat.backends.emulation.decoded_weights import DecodedWeights
from aiter_compat.backends.emulation.expert_bank import open_bank
from aiter_compat.backends.emulation.tile_decoder import TileDecoder
from aiter_compat.backends.emulation.weight_decoding import decode_expert
from aiter_compat.formats import quantize
from aiter_compat.layouts import shuffle_16x16, shuffle_a16w4, shuffle_scale_a16w4, shuffle_scale_e8m0

DECODER = TileDecoder(torch.device("cpu"))
MATRIX_BYTES = 192 * 64 * 4  # w1 of one expert of `make_layer`


@pytest.fixture
def kept(monkeypatch) -> DecodedWeights:
    """What this process keeps, with a budget of 1 MiB for the time of a test."""
    monkeypatch.setenv("AITER_COMPAT_DECODED_WEIGHTS_MIB", "1")
    monkeypatch.setattr(decoded_weights, "_OF_THIS_PROCESS", DecodedWeights())
    ac.refresh()
    cache = decoded_weights.decoded_weights()
    assert cache is not None
    return cache


def first_matrices(layer):
    return open_bank(layer.request).routed[0]


def test_nothing_is_kept_by_default(make_layer):
    assert decoded_weights.decoded_weights() is None


@pytest.mark.parametrize("tokens", [1, 40])
@pytest.mark.parametrize("weight_format", ["mxfp4", "mxfp6_e2m3", "mxfp8"])
def test_a_call_gives_the_same_with_and_without(make_layer, relative_error, kept, weight_format, tokens):
    generator = torch.Generator().manual_seed(4)
    w1 = quantize(torch.randn(4, 192, 64, generator=generator) / 8, weight_format)
    w2 = quantize(torch.randn(4, 64, 96, generator=generator) / 8, weight_format)
    weights = {"w1": w1.codes, "w2": w2.codes, "w1_scale": w1.scales, "w2_scale": w2.scales}
    request = make_layer(tokens=tokens, weight_format=weight_format, **weights).request
    first, second = run(request), run(request)
    assert kept.used > 0
    assert torch.equal(first, second)
    kept.limit(0)
    assert relative_error(first, run(request)) <= 1e-6


def test_a_second_call_decodes_nothing(make_layer, kept, monkeypatch):
    request = make_layer().request
    expected = run(request)
    monkeypatch.setattr(TileDecoder, "decode", lambda *_: pytest.fail("decoded again"))
    assert torch.equal(run(request), expected)


@pytest.mark.parametrize("layout", ["shuffle_16x16", "a16w4"])
def test_layouts_of_the_same_weights_are_told_apart(make_layer, kept, monkeypatch, layout):
    """The bytes of a shuffled matrix may be read in the wrong layout by mistake; that must not stick."""
    request = make_layer(tokens=7, hidden=256, intermediate=256).request
    a16w4 = layout == "a16w4"
    shuffled = replace(
        request,
        weight_layout=layout,
        w1=shuffle_a16w4(request.w1, True) if a16w4 else shuffle_16x16(request.w1),
        w2=shuffle_a16w4(request.w2, False) if a16w4 else shuffle_16x16(request.w2),
        w1_scale=shuffle_scale_a16w4(request.w1_scale, None, True) if a16w4 else shuffle_scale_e8m0(request.w1_scale),
        w2_scale=shuffle_scale_a16w4(request.w2_scale, None, False) if a16w4 else shuffle_scale_e8m0(request.w2_scale),
    )
    monkeypatch.setenv("AITER_COMPAT_DECODED_WEIGHTS_MIB", "16")
    ac.refresh()
    scales = {name: getattr(shuffled, name).view_as(getattr(request, name)) for name in ("w1_scale", "w2_scale")}
    wrong = run(replace(shuffled, weight_layout="logical", **scales))
    for _ in range(2):
        assert torch.equal(run(shuffled), run(request))
        assert not torch.equal(run(request), wrong)


def _through_data(tensor):
    tensor.data.view(torch.uint8)[0, 3, 1] ^= 0x55


def _in_place(tensor):
    tensor[0, 3, 1] ^= 0x55


def _through_numpy(tensor):
    tensor.numpy()[0, 3, 1] ^= 0x55


def _by_a_permutation_of_rows(tensor):
    tensor.data.copy_(tensor.data.flip(1).clone())


@pytest.mark.parametrize("change", [_in_place, _through_data, _through_numpy, _by_a_permutation_of_rows])
@pytest.mark.parametrize("argument", ["w1", "w1_scale"])
def test_changed_weights_are_decoded_again(make_layer, kept, change, argument):
    """Whether or not the change moves the tensor's version counter."""
    layer = make_layer()
    matrices = first_matrices(layer)
    before = kept.matrix(matrices, 0, DECODER)
    change(getattr(layer.request, argument))
    after = kept.matrix(matrices, 0, DECODER)
    assert not torch.equal(after, before)
    assert torch.equal(after, decode_expert(matrices, 0))
    assert kept.used == MATRIX_BYTES


def test_new_weights_in_the_memory_of_old_ones_are_decoded(make_layer, kept):
    request = make_layer(seed=1).request
    run(request)
    other = make_layer(seed=2).request
    request.w1.set_(other.w1.clone())
    request.w1_scale.copy_(other.w1_scale)
    mixed = run(request)
    kept.limit(0)
    assert torch.equal(mixed, run(replace(request, w1=other.w1, w1_scale=other.w1_scale)))


def test_weights_that_are_freed_free_what_was_kept(make_layer, kept):
    layer = make_layer()
    run(layer.request)
    assert kept.used > 0
    del layer
    gc.collect()
    assert kept.used == 0


def test_a_view_of_the_same_weights_finds_them(make_layer, kept):
    """Hosts and the call layer make new tensor objects over the same memory for each call."""
    matrices = first_matrices(make_layer())
    again = replace(matrices, stored=matrices.stored.view(torch.uint8), scale=matrices.scale.view(torch.uint8))
    assert kept.matrix(again, 0, DECODER) is kept.matrix(matrices, 0, DECODER)


def test_weights_of_inference_mode_are_kept_too(make_layer, kept):
    with torch.inference_mode():
        matrices = first_matrices(make_layer())
        assert kept.matrix(matrices, 0, DECODER) is kept.matrix(matrices, 0, DECODER)


@pytest.mark.parametrize("fit", [1, 2, 3])
def test_the_least_recently_used_matrix_is_given_up(make_layer, fit):
    cache = DecodedWeights(fit * MATRIX_BYTES + MATRIX_BYTES // 2)
    matrices = first_matrices(make_layer(experts=6))
    for expert in (0, 1, 2, 0, 3):
        cache.matrix(matrices, expert, DECODER)
        assert cache.used <= cache.budget
    recent = {1: [3], 2: [0, 3], 3: [2, 0, 3]}[fit]
    kept = [key[4] for key in cache._entries]
    assert kept == recent


def test_a_matrix_larger_than_the_budget_is_not_kept(make_layer):
    cache = DecodedWeights(MATRIX_BYTES - 1)
    assert cache.matrix(first_matrices(make_layer()), 0, DECODER) is None
    assert cache.used == 0


def test_lowering_the_budget_frees_at_once(make_layer):
    cache = DecodedWeights(4 * MATRIX_BYTES)
    matrices = first_matrices(make_layer())
    for expert in range(4):
        cache.matrix(matrices, expert, DECODER)
    cache.limit(2 * MATRIX_BYTES)
    assert cache.used == 2 * MATRIX_BYTES
    cache.limit(0)
    assert cache.used == 0


def test_unquantised_weights_are_not_kept(make_layer, kept):
    """fp32 has nothing to decode, and bf16 is read about as fast as a kept copy."""
    request = make_layer(
        w1=torch.randn(4, 192, 64).bfloat16(),
        w2=torch.randn(4, 64, 96).bfloat16(),
        w1_scale=None,
        w2_scale=None,
        quant_type="no",
        weight_format="unquantised",
    ).request
    run(request)
    assert kept.used == 0


def test_calls_from_several_threads_stay_within_the_budget(make_layer):
    """With room for two of six matrices, so that threads give up what others are reading."""
    cache = DecodedWeights(2 * MATRIX_BYTES)
    matrices = first_matrices(make_layer(experts=6))
    expected = [decode_expert(matrices, expert) for expert in range(6)]
    wrong = []

    def call(offset):
        decoder = TileDecoder(torch.device("cpu"))
        for step in range(60):
            expert = (step * (offset + 1)) % 6
            if not torch.equal(cache.matrix(matrices, expert, decoder), expected[expert]) or cache.used > cache.budget:
                wrong.append(expert)

    workers = [threading.Thread(target=call, args=(offset,)) for offset in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    assert cache.used == sum(entry.size for entry in cache._entries.values())


@pytest.mark.parametrize("shape", [(7,), (512,), (64, 65), (3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_a_change_of_any_byte_changes_the_fingerprint(shape, dtype):
    content = torch.randint(0, 100, shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    before = fingerprint(content)
    assert fingerprint(content.clone()) == before
    flat = content.view(-1)
    for place in {0, flat.numel() // 2, flat.numel() - 1}:
        changed = content.clone()
        changed.view(-1)[place] += 1
        assert all(new != old for new, old in zip(fingerprint(changed), before, strict=True))


def test_a_part_that_starts_at_an_odd_byte_has_the_fingerprint_of_its_copy():
    content = torch.arange(200, dtype=torch.uint8)
    assert fingerprint(content[3:151]) == fingerprint(content[3:151].clone())
    assert fingerprint(content.view(20, 10).t()) == fingerprint(content.view(20, 10).t().contiguous())
