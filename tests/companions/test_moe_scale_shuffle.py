"""`shuffle_scale_moe`: AITER's bytes for the GPUs that have an order, the scales themselves for all others."""

import sys

import pytest
import torch

import aiter_compat as ac

VLLM = {"arch": "gfx1250", "preshuffle_factor": 32, "scale_kwidth": 4}
"""What vLLM 0.33.0 passes."""
CASES = {
    "scale_moe_gfx950": {"arch": "gfx950"},
    "scale_moe_gfx950_16x4": {"arch": "gfx950", "preshuffle_factor": 16, "scale_kwidth": 4},
    "scale_moe_gfx1250": VLLM,
}


@pytest.fixture
def logical(vectors):
    """[E, N, C]."""
    return torch.from_numpy(vectors("shuffles")["scale_moe"]["s"])


@pytest.fixture
def scale(logical):
    """[E, C, N], the view that hosts pass."""
    return logical.transpose(1, 2)


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_are_aiters(vectors, same, scale, case):
    before = scale.clone()
    shuffled = ac.shuffle_scale_moe(scale, **CASES[case])
    assert same(shuffled, vectors("shuffles")[case]["out"])
    assert torch.equal(scale, before)


@pytest.mark.parametrize("case", CASES)
def test_strides_dtype_and_rank_are_those_that_kernels_expect(scale, case):
    e8m0 = ac.shuffle_scale_moe(scale.view(torch.float8_e8m0fnu), **CASES[case])
    assert e8m0.dtype == torch.float8_e8m0fnu
    assert e8m0.transpose(1, 2).is_contiguous()
    one = ac.shuffle_scale_moe(scale[1], **CASES[case])
    assert torch.equal(one, e8m0.view(torch.uint8)[1])


def test_gfx950_reads_the_order_of_e8m0_shuffle(logical, scale):
    experts, rows, columns = logical.shape
    whole = torch.cat([logical] * 2).reshape(-1, columns)  # 256 rows, which e8m0_shuffle does not pad
    shuffled = ac.shuffle_scale_moe(torch.cat([scale] * 2), "gfx950").transpose(1, 2)
    assert torch.equal(shuffled.reshape(-1), ac.e8m0_shuffle(whole).reshape(-1))
    assert (len(shuffled), experts * rows * 2) == (4, 256)


def test_gfx1250_reads_the_order_of_moe_shuffle_scale(logical, scale, monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx1250")
    assert torch.equal(ac.shuffle_scale_moe(scale, **VLLM).transpose(1, 2), ac.moe_shuffle_scale(logical))


@pytest.mark.parametrize(("arch", "label"), [("gfx950", "CDNA4_SCALE"), ("gfx1250", "GFX1250_SCALE")])
def test_the_order_is_named_on_request(scale, arch, label):
    shuffled, named = ac.shuffle_scale_moe(scale, arch, return_layout=True)
    assert named == label
    assert torch.equal(shuffled, ac.shuffle_scale_moe(scale, arch))


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_other_gpus_keep_their_scales(scale, arch):
    assert ac.shuffle_scale_moe(scale, arch) is scale
    kept, named = ac.shuffle_scale_moe(scale, arch, return_layout=True)
    assert kept is scale
    assert named is None


@pytest.mark.skipif(torch.version.hip is not None, reason="there may be a ROCm GPU")
def test_without_a_name_the_architecture_is_this_machines(scale, monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx950")
    assert torch.equal(ac.shuffle_scale_moe(scale), ac.shuffle_scale_moe(scale, "gfx950"))
    monkeypatch.delenv("GPU_ARCHS")
    assert ac.shuffle_scale_moe(scale) is scale


def test_the_device_is_believed_before_the_environment(scale, monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx950")
    monkeypatch.setattr("aiter_compat.companions.moe_scale_shuffle.device_architecture", lambda: "gfx942")
    assert ac.shuffle_scale_moe(scale) is scale


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda scale: ac.shuffle_scale_moe(scale[:, :, :40], "gfx950"), "data"),
        (lambda scale: ac.shuffle_scale_moe(scale[:, :6], "gfx1250", scale_kwidth=4), "data"),
        (lambda scale: ac.shuffle_scale_moe(scale.half(), "gfx950"), "data"),
        (lambda scale: ac.shuffle_scale_moe(scale[0, 0], "gfx950"), "data"),
        (lambda scale: ac.shuffle_scale_moe(scale, "gfx950", preshuffle_factor=1), "preshuffle_factor"),
        (lambda scale: ac.shuffle_scale_moe(scale, "gfx1250", preshuffle_factor=0), "preshuffle_factor"),
        (lambda scale: ac.shuffle_scale_moe(scale, "gfx950", scale_kwidth=1), "scale_kwidth"),
    ],
)
def test_what_does_not_fit_is_named(scale, call, argument):
    with pytest.raises(ac.InvalidArgument) as raised:
        call(scale)
    assert raised.value.argument == argument


FILES = {
    "aiter/__init__.py": "",
    "aiter/fused_moe.py": "def fused_moe(hidden_states): ...\n",
    "aiter/jit/core.py": "",
    **{f"aiter/{folder}/__init__.py": "" for folder in ("ops", "ops/triton", "ops/triton/utils")},
    "aiter/ops/triton/utils/shuffle.py": (
        "calls = []\n"
        "def shuffle_scale_moe(data, arch=None, preshuffle_factor=32, scale_kwidth=8, return_layout=False):\n"
        "    calls.append((arch, preshuffle_factor, scale_kwidth))\n"
        "    return data\n"
    ),
}


def test_on_rocm_aiters_own_serves_where_the_gpu_has_an_order(fake_site, monkeypatch, scale):
    monkeypatch.setattr(torch.version, "hip", "7.2.0")
    fake_site(FILES)
    assert ac.shuffle_scale_moe(scale, "gfx942") is scale
    assert "aiter.ops.triton.utils.shuffle" not in sys.modules  # whose first releases fail on that GPU
    assert ac.shuffle_scale_moe(scale, **VLLM) is scale
    assert sys.modules["aiter.ops.triton.utils.shuffle"].calls == [("gfx1250", 32, 4)]
