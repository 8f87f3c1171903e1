"""Which devices `backend="auto"` sends to AITER."""

from types import SimpleNamespace

import pytest
import torch

from aiter_compat.backends.aiter_native import device_refusal
from aiter_compat.backends.aiter_native.architectures import architecture

GPU = torch.device("cuda", 0)


@pytest.fixture
def rocm(monkeypatch):
    """A build of torch for ROCm with one GPU of the architecture that `rocm(name)` says."""

    def pretend(name):
        monkeypatch.setattr(torch.version, "hip", "7.2", raising=False)
        properties = SimpleNamespace(gcnArchName=name)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)

    return pretend


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_other_devices_are_not_aiters(device):
    assert f"is on {device}" in device_refusal(torch.device(device), "no")
    assert architecture(torch.device(device)) == "gfx950"


def test_nvidia_gpus_are_not_aiters(monkeypatch):
    monkeypatch.setattr(torch.version, "hip", None, raising=False)
    assert "NVIDIA" in device_refusal(GPU, "per_1x32")
    assert architecture(GPU) == "gfx950"


@pytest.mark.parametrize(
    ("arch", "quant_type", "served"),
    [
        ("gfx950:sramecc+:xnack-", "per_1x32", True),
        ("gfx1250", "per_1x32", True),
        ("gfx942:sramecc+:xnack-", "per_1x32", False),
        ("gfx942", "per_token", True),
        ("gfx942", "no", True),
        ("gfx90a", "no", True),
        ("gfx90a", "per_token", False),
        ("gfx1151", "no", False),
    ],
)
def test_architectures_by_quant_type(rocm, arch, quant_type, served):
    rocm(arch)
    refusal = device_refusal(GPU, quant_type)
    assert (refusal is None) == served
    if refusal is not None:
        assert refusal.endswith(f"not for {arch.partition(':')[0]}")
    assert architecture(GPU) == arch.partition(":")[0]


def test_a_quant_type_that_no_architecture_is_known_for(rocm):
    rocm("gfx950")
    assert "no architecture" in device_refusal(GPU, "per_256x128")
