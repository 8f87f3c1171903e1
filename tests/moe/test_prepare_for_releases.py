"""Weights are prepared as the installed release's kernels read them, for every size that it takes."""

import pytest
import torch

import aiter_compat as ac

CONFIG = ac.MoEConfig(hidden_size=256, intermediate_size=384, num_experts=2, top_k=1, activation="swigluoai")


def checkpoint():
    generator = torch.Generator().manual_seed(3)
    w1 = ac.quantize(torch.randn(2, 768, 256, generator=generator), "mxfp4")
    w2 = ac.quantize(torch.randn(2, 256, 384, generator=generator), "mxfp4")
    return w1.codes, w2.codes, w1.scales, w2.scales


def test_sizes_that_are_no_multiple_of_256_are_padded_as_aiter_pads_them_since_0_1_18(aiter_stub):
    aiter_stub("0.1.20.post1")
    prepared = ac.prepare_weights(*checkpoint(), config=CONFIG, backend="aiter")
    assert prepared.layout == "a16w4"
    assert prepared.w2_scale.shape[-1] == 16  # 384 / 32 = 12 scales a row, rounded up to 8
    back = ac.prepare_weights(prepared, config=CONFIG, backend="emulation")
    plain = ac.prepare_weights(*checkpoint(), config=CONFIG, backend="emulation")
    for name in ("w1", "w2", "w1_scale", "w2_scale"):
        assert torch.equal(getattr(back, name), getattr(plain, name)), name
    given = (torch.ones(1, 256).bfloat16(), torch.ones(1, 1), torch.zeros(1, 1, dtype=torch.int32))
    outs = [
        ac.fused_experts(given[0], weights, given[1], given[2], config=CONFIG, backend="emulation")
        for weights in (prepared, plain)
    ]
    # The two layouts may take different paths (compiled, torch), which differ in the order of their fp32 sums.
    torch.testing.assert_close(*outs, rtol=2**-7, atol=0)


def test_they_are_refused_for_a_release_that_does_not_pad(aiter_stub):
    aiter_stub("0.1.15.post3")
    with pytest.raises(ac.InvalidArgument, match=r"scale: .*multiple of 8"):
        ac.prepare_weights(*checkpoint(), config=CONFIG, backend="aiter")
