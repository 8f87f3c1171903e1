"""`ac.dtypes` and `ac.get_gfx()` answer on every machine, without importing an AITER that cannot serve."""

import sys

import pytest
import torch

import aiter_compat as ac


def test_dtypes_have_aiters_short_names():
    assert ac.dtypes.bf16 is torch.bfloat16
    assert ac.dtypes.fp8 is torch.float8_e4m3fn
    assert ac.dtypes.d_dtypes["i32"] is torch.int32
    assert {"fp8", "fp4x2", "fp8_e8m0", "i4x2", "fp16", "u8"} <= set(dir(ac.dtypes))
    assert all(isinstance(getattr(ac.dtypes, name), torch.dtype) for name in dir(ac.dtypes) if name != "d_dtypes")
    assert ac.dtypes.fp4x2.itemsize == ac.dtypes.fp8_e8m0.itemsize == 1


def test_an_unknown_dtype_is_an_attribute_error_that_lists_the_known_ones():
    with pytest.raises(AttributeError, match=r"ac\.dtypes has no 'fp6'; it has fp8"):
        ac.dtypes.fp6  # noqa: B018
    assert not hasattr(ac.dtypes, "__wrapped__")


def test_fp8_is_the_one_that_the_gpu_computes_with(monkeypatch):
    monkeypatch.setattr("aiter_compat.companions.dtype_names.device_architecture", lambda: "gfx942")
    assert ac.dtypes.fp8 is torch.float8_e4m3fnuz


def test_the_architecture_is_what_the_environment_says(monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx942;gfx950")
    assert ac.get_gfx() == "gfx950"


@pytest.mark.skipif(torch.version.hip is not None, reason="there may be a ROCm GPU")
@pytest.mark.parametrize("value", [None, "native"])
def test_without_a_rocm_gpu_there_is_no_architecture(monkeypatch, value):
    monkeypatch.delenv("GPU_ARCHS", raising=False)
    if value:
        monkeypatch.setenv("GPU_ARCHS", value)
    assert ac.get_gfx() == ""


FILES = {
    "aiter/__init__.py": "",
    "aiter/fused_moe.py": "def fused_moe(hidden_states): ...\n",
    "aiter/jit/core.py": "",
    "aiter/jit/utils/chip_info.py": "def get_gfx():\n    return 'gfx950'\n",
    "aiter/utility/dtypes.py": "import torch\nfp8 = torch.float8_e5m2\nbf16 = torch.bfloat16\nmore = 1\n",
}


@pytest.fixture
def rocm(monkeypatch):
    """A torch that says it drives ROCm GPUs, of which there is none."""
    monkeypatch.setattr(torch.version, "hip", "7.2.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_on_rocm_both_are_aiters_own(fake_site, rocm, monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx942")
    fake_site(FILES)
    assert ac.get_gfx() == "gfx950"
    assert ac.dtypes.fp8 is torch.float8_e5m2
    assert ac.dtypes.more == 1


def test_a_broken_aiter_is_no_obstacle(fake_site, rocm, monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx942")
    fake_site({**FILES, "aiter/__init__.py": "raise RuntimeError('ROCm version file not found')\n"})
    assert ac.get_gfx() == "gfx942"
    assert ac.dtypes.fp8 is torch.float8_e4m3fn


def test_elsewhere_aiter_is_not_imported(fake_site, monkeypatch):
    monkeypatch.setenv("GPU_ARCHS", "gfx942")
    fake_site(FILES)
    assert ac.get_gfx() == "gfx942"
    assert ac.dtypes.fp8 is torch.float8_e4m3fn
    assert "aiter" not in sys.modules
