"""AITER_COMPAT_CHECKS: metadata by default, values on request, nothing when switched off."""

import pytest
import torch

import aiter_compat as ac

pytestmark = pytest.mark.usefixtures("without_aiter")


@pytest.fixture
def level(monkeypatch):
    def choose(name):
        monkeypatch.setenv("AITER_COMPAT_CHECKS", name)
        ac.refresh()

    return choose


def changed(call, name, index, value):
    tensor = call[name].clone()
    tensor[index] = value
    return call | {name: tensor}


def garbage_in_pads(make_layer, weights):
    """A padded layer, and where a live value would be wrong: argument -> index."""
    layer = make_layer(weights, hidden=256, intermediate=128)
    per_byte = 2 if weights == "mxfp4" else 1
    call = layer.call | {"hidden_pad": 128, "intermediate_pad": 64}
    call["w1"][:, :, 128 // per_byte :] = 0
    call["w1"][:, 64:128] = 0
    call["w1"][:, 192:] = 0
    call["w2"][:, 128:] = 0
    call["w2"][:, :, 64 // per_byte :] = 0
    places = {
        "gate rows": ("w1", (0, 100, 3)),
        "up rows": ("w1", (1, 200, 3)),
        "hidden columns": ("w1", (2, 5, 200 // per_byte)),
        "hidden rows": ("w2", (0, 200, 3)),
        "intermediate columns": ("w2", (3, 5, 100 // per_byte)),
    }
    return call, places


@pytest.mark.parametrize("weights", ["mxfp4", "bf16"])
def test_debug_finds_garbage_in_pads(make_layer, level, weights):
    call, places = garbage_in_pads(make_layer, weights)
    level("debug")
    ac.fused_moe(**call)
    for place, (argument, index) in places.items():
        with pytest.raises(ac.InvalidArgument, match="non-zero weights") as caught:
            ac.fused_moe(**changed(call, argument, index, 0x31))
        assert caught.value.argument == argument, place
        assert "zeros" in caught.value.remedy
    level("metadata")
    for argument, index in places.values():
        ac.fused_moe(**changed(call, argument, index, 0x31))


def test_a_negative_zero_is_zero(make_layer, level):
    call, places = garbage_in_pads(make_layer, "mxfp4")
    level("debug")
    for argument, index in places.values():
        ac.fused_moe(**changed(call, argument, index, 0x88))


def test_debug_finds_ids_out_of_range(make_layer, level):
    call = make_layer("bf16").call
    level("debug")
    for wrong, shown in ((4, "to 4"), (-1, "from -1")):
        with pytest.raises(ac.InvalidArgument, match=f"topk_ids: got ids .*{shown}.*0 to 3"):
            ac.fused_moe(**changed(call, "topk_ids", (0, 0), wrong))
    mask = torch.tensor([1, 1, 0, 1, 1, 0], dtype=torch.int32)
    ac.fused_moe(**changed(call, "topk_ids", (0, 0), 5), expert_mask=mask)
    with pytest.raises(ac.InvalidArgument, match="0 to 5"):
        ac.fused_moe(**changed(call, "topk_ids", (0, 0), 6), expert_mask=mask)
    level("metadata")
    out = ac.fused_moe(**changed(call, "topk_ids", 0, 9))
    assert not out[0].any()


def test_debug_finds_ids_that_would_wrap_around_in_int32(make_layer, level):
    call = make_layer("bf16").call
    wide = call | {"topk_ids": call["topk_ids"].long() + 2**32}
    level("debug")
    with pytest.raises(ac.InvalidArgument, match="topk_ids: got ids beyond the range of int32"):
        ac.fused_moe(**wide)


def test_debug_finds_nan_weights(make_layer, level):
    call = changed(make_layer("bf16").call, "topk_weight", (2, 1), float("nan"))
    level("debug")
    with pytest.raises(ac.InvalidArgument, match="topk_weight: got NaN"):
        ac.fused_moe(**call)
    level("metadata")
    assert ac.fused_moe(**call)[2].isnan().any()


def test_debug_accepts_what_is_right(make_layer, level):
    for weights in ("mxfp4", "bf16"):
        layer = make_layer(weights)
        level("metadata")
        expected = ac.fused_moe(**layer.call, **layer.biases)
        level("debug")
        assert torch.equal(ac.fused_moe(**layer.call, **layer.biases), expected)
        empty = make_layer(weights, tokens=0)
        assert ac.fused_moe(**empty.call).shape[0] == 0


def test_off_leaves_checks_out(make_layer, level):
    layer = make_layer("bf16")
    expected = ac.fused_moe(**layer.call)
    harmless = {"intermediate_pad": 32, "block_size_M": "64"}  # both change nothing in the emulation
    with pytest.raises(ac.InvalidArgument):
        ac.fused_moe(**layer.call, **harmless)
    level("off")
    assert torch.equal(ac.fused_moe(**layer.call, **harmless), expected)
    with pytest.raises(ac.InvalidArgument, match="activation"):  # what cannot be understood is never computed
        ac.fused_moe(**layer.call, activation="swish")


def test_a_level_that_does_not_exist(make_layer, level):
    level("paranoid")
    with pytest.raises(ac.SettingsError, match="off, metadata, debug"):
        ac.fused_moe(**make_layer("bf16").call)
