"""The Triton path says why it does not serve a call, and is chosen where nothing speaks against it."""

from dataclasses import replace

import pytest
import torch

import aiter_compat as ac
from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest, run_triton, triton_refusals
from aiter_compat.backends.emulation.triton_path import availability
from aiter_compat.profiles import profile


def make_request(**changes):
    made = EmulationRequest(
        hidden_states=torch.zeros(2, 64, dtype=torch.bfloat16),
        w1=torch.zeros(4, 64, 32, dtype=torch.uint8),
        w2=torch.zeros(4, 64, 16, dtype=torch.uint8),
        topk_weight=torch.ones(2, 2),
        topk_ids=torch.zeros(2, 2, dtype=torch.int32),
        activation=ActivationSpec("silu"),
        quant_type="per_1x32",
        weight_format="mxfp4",
        qdq_first="mxfp4",
        qdq_second="mxfp4",
        profile=profile("aiter-0.1.15"),
        out_dtype=torch.bfloat16,
        w1_scale=torch.zeros(4, 64, 2, dtype=torch.uint8),
        w2_scale=torch.zeros(4, 64, 1, dtype=torch.uint8),
    )
    return replace(made, **changes)


@pytest.fixture
def able_device(monkeypatch):
    monkeypatch.setattr(availability, "missing_on_device", lambda device: None)


def reasons(layout="logical", first="mxfp4", second="mxfp4", **changes):
    return triton_refusals(make_request(**changes), layout, first, second)


def test_a_plain_mxfp4_layer_is_served(able_device):
    assert reasons() == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"layout": "a16w4"}, "these are in a16w4"),
        ({"first": "none", "second": "mxfp4"}, "not none"),
        ({"weight_format": "mxfp8"}, "these are mxfp8"),
        ({"a1_scale": torch.ones(1)}, "no static activation scales"),
        ({"a2_scale": torch.ones(1)}, "no static activation scales"),
        ({"shared_w1": torch.zeros(1, 64, 32, dtype=torch.uint8)}, "no shared expert"),
        ({"topk_ids": torch.zeros(2, 33, dtype=torch.int32)}, "these are 33"),
        ({"hidden_states": torch.zeros(64, 2).t()}, "hidden_states are"),
        ({"w1": torch.zeros(4, 32, 64, dtype=torch.uint8).transpose(1, 2)}, "w1 is not contiguous"),
        ({"w2_scale": torch.zeros(4, 1, 64, dtype=torch.uint8).transpose(1, 2)[..., ::1].expand(4, 64, 2)}, "w2_scale"),
        ({"w2_scale": torch.zeros(257, dtype=torch.uint8)[1:].view(4, 64, 1)}, "multiple of 16 bytes"),
        ({"bias1": torch.zeros(4, 64, dtype=torch.int32)}, "bias1 is not"),
        ({"num_local_tokens": torch.zeros(1, device="meta")}, "another device"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_reason_is_said(able_device, changes, said):
    assert any(said in reason for reason in reasons(**changes))


def test_a_cpu_is_refused_with_the_reason():
    with pytest.raises(ac.UnsupportedByEmulation, match="the tensors are on cpu"):
        run_triton(make_request())


def test_other_versions_of_triton_are_not_trusted(monkeypatch):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(availability.importlib.metadata, "version", lambda name: "3.60.0")
    availability.missing_requirement.cache_clear()
    try:
        assert "tested with Triton 3.6, this is 3.60.0" in str(availability.missing_requirement())
    finally:
        availability.missing_requirement.cache_clear()


def test_the_path_is_not_offered_without_triton(monkeypatch):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: None)
    availability.missing_requirement.cache_clear()
    try:
        assert availability.missing_requirement() == "Triton is not installed"
    finally:
        availability.missing_requirement.cache_clear()
