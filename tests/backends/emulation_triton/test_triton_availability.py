"""The Triton path says why it does not serve a call, and is chosen where nothing speaks against it."""

from dataclasses import replace

import pytest
import torch

import aiter_compat as ac
from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest, run_triton, triton_refusals
from aiter_compat.backends.emulation.expert_matrices import MX_FORMATS
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


def shared_expert(**changes):
    own = {
        "shared_w1": torch.zeros(1, 64, 32, dtype=torch.uint8),
        "shared_w2": torch.zeros(64, 16, dtype=torch.uint8),
        "shared_w1_scale": torch.zeros(1, 64, 2, dtype=torch.uint8),
        "shared_w2_scale": torch.zeros(64, 1, dtype=torch.uint8),
    }
    return own | changes


def not_contiguous():
    return torch.zeros(4, 32, 64, dtype=torch.uint8).transpose(1, 2)


@pytest.fixture
def able_device(monkeypatch):
    monkeypatch.setattr(availability, "missing_on_device", lambda device: None)


def reasons(**changes):
    request = make_request(**changes)
    return triton_refusals(request, request.weight_layout, request.qdq_first, request.qdq_second)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"weight_layout": "shuffle_16x16"},
        {"weight_layout": "a16w4"},
        {"w1": torch.zeros(4, 64, 32, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)},
        {"weight_format": "mxfp8", "w1": torch.zeros(4, 64, 64, dtype=torch.float8_e4m3fn)},
        {"weight_format": "mxfp8_e5m2", "w1": torch.zeros(4, 64, 64, dtype=torch.float8_e5m2)},
        {"w1_scale": torch.zeros(4, 64, 2, dtype=torch.float8_e8m0fnu)},
        {"hidden_states": torch.zeros(2, 64)},
        {"hidden_states": torch.zeros(2, 128, dtype=torch.float16)[:, :64]},
        {"hidden_states": torch.zeros(2, 32, dtype=torch.uint8), "a1_scale": torch.zeros(2, 2, dtype=torch.uint8)},
        {"hidden_states": torch.zeros(2, 64, dtype=torch.float8_e4m3fn), "a1_scale": torch.ones(1)},
        {"bias1": torch.zeros(4, 64), "bias2": torch.zeros(4, 64, dtype=torch.bfloat16)},
        {"num_local_tokens": 1},
        {"num_local_tokens": torch.ones(1, dtype=torch.int32)},
        {"topk_ids": torch.zeros(2, 32, dtype=torch.int64)},
        shared_expert(),
    ],
    ids=" ".join,
)
def test_what_it_serves(able_device, changes):
    assert reasons(**changes) == ()


@pytest.mark.parametrize("weights", MX_FORMATS)
@pytest.mark.parametrize("activations", ["none", *MX_FORMATS])
def test_every_mx_format_is_served(able_device, weights, activations):
    assert reasons(weight_format=weights, qdq_first=activations, qdq_second=activations) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weight_format": "fp8"}, "these are fp8"),
        ({"weight_format": "unquantised"}, "these are unquantised"),
        ({"qdq_first": "fp8_token", "qdq_second": "none"}, "not fp8_token"),
        ({"qdq_first": "none", "qdq_second": "fp8_tensor"}, "not fp8_tensor"),
        ({"a1_scale": torch.ones(1)}, "no static activation scales"),
        ({"a2_scale": torch.ones(1)}, "no static activation scales"),
        ({"topk_ids": torch.zeros(2, 33, dtype=torch.int32)}, "these are 33"),
        ({"hidden_states": torch.zeros(64, 2).t()}, "hidden_states are"),
        ({"hidden_states": torch.zeros(2, 64, dtype=torch.float64)}, "hidden_states are torch.float64"),
        ({"w1": not_contiguous()}, "w1 is not contiguous"),
        ({"w1": torch.zeros(4, 64, 32, dtype=torch.int8)}, "w1 is not contiguous bytes"),
        ({"w1": torch.zeros(4, 64, 24, dtype=torch.uint8)}, "rows of w1 are no whole blocks"),
        ({"w1": torch.zeros(4, 64, 32, dtype=torch.bfloat16)}, "w1 is not contiguous bytes"),
        ({"w1_scale": None}, "w1_scale is not"),
        ({"w1_scale": torch.ones(4, 64, 2)}, "w1_scale is not contiguous bytes"),
        ({"w2_scale": torch.zeros(4, 64, 1, dtype=torch.uint8).expand(4, 64, 2)}, "w2_scale is not contiguous"),
        ({"w2_scale": torch.zeros(257, dtype=torch.uint8)[1:].view(4, 64, 1)}, "multiple of 16 bytes"),
        (shared_expert(shared_w1=not_contiguous()[:1]), "shared_w1 is not contiguous"),
        (shared_expert(shared_w2=torch.zeros(64, 32, dtype=torch.bfloat16)), "shared_w2 is not contiguous bytes"),
        (shared_expert(shared_w1_scale=torch.ones(1, 64, 2)), "shared_w1_scale is not contiguous bytes"),
        (shared_expert(shared_w2=torch.zeros(1025, dtype=torch.uint8)[1:].view(64, 16)), "shared_w2 or its scale"),
        ({"bias1": torch.zeros(4, 64, dtype=torch.int32)}, "bias1 is not"),
        ({"bias2": torch.zeros(64, 4).t()}, "bias2 is not contiguous"),
        ({"num_local_tokens": torch.zeros(1, device="meta")}, "another device"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_reason_is_said(able_device, changes, said):
    (reason,) = reasons(**changes)
    assert said in reason


def test_a_cpu_is_refused_with_the_reason():
    with pytest.raises(ac.UnsupportedByEmulation, match="the tensors are on cpu"):
        run_triton(make_request())


@pytest.fixture
def triton_version(monkeypatch):
    """Sets the version of Triton that is installed, None for no Triton."""

    def set_version(version):
        found = None if version is None else object()
        monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: found)
        monkeypatch.setattr(availability.importlib.metadata, "version", lambda name: version)
        availability.missing_requirement.cache_clear()
        availability.missing_on_device.cache_clear()

    yield set_version
    availability.missing_requirement.cache_clear()
    availability.missing_on_device.cache_clear()


@pytest.mark.parametrize("version", ["3.4.0", "3.5.1", "3.6.0", "3.30.0", "3.6.0+git1234", "4.0"])
def test_triton_from_the_oldest_that_was_tried_on(triton_version, version):
    triton_version(version)
    assert availability.missing_requirement() is None
    assert availability.missing_on_device(torch.device("cuda", 0)) is None


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, "Triton is not installed"),
        ("3.3.1", "its kernels need Triton 3.4 or newer, this is 3.3.1"),
        ("2.1", "its kernels need Triton 3.4 or newer, this is 2.1"),
    ],
)
def test_what_an_installation_lacks_is_said(triton_version, version, said):
    triton_version(version)
    assert availability.missing_requirement() == said
    assert availability.missing_on_device(torch.device("cuda", 0)) == said
