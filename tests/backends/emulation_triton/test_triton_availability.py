"""The Triton path says why it does not serve a call, and is chosen where nothing speaks against it."""

from dataclasses import replace

import pytest
import torch

import aiter_compat as ac
from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest, run_triton, triton_refusals
from aiter_compat.backends.emulation.triton_path import availability, forms, running
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
    """Tensors of the CPU pass for those of a Hopper GPU."""
    monkeypatch.setattr(availability, "missing_on_device", lambda device: None)
    monkeypatch.setattr(forms, "missing_for_hopper", lambda device: None)


def reasons(layout="logical", first="mxfp4", second="mxfp4", **changes):
    return triton_refusals(make_request(**changes), layout, first, second)


def test_a_plain_mxfp4_layer_is_served(able_device):
    assert reasons() == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"first": "none", "second": "fp8_token"}, "not fp8_token"),
        ({"weight_format": "fp8"}, "these are fp8"),
        ({"a1_scale": torch.ones(1)}, "no static activation scales"),
        ({"a2_scale": torch.ones(1)}, "no static activation scales"),
        ({"shared_w1": torch.zeros(1, 64, 24, dtype=torch.uint8)}, "rows of shared_w1 are no whole blocks"),
        ({"shared_w2": torch.zeros(1, 64, 16)}, "shared_w2 is not contiguous"),
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


@pytest.mark.parametrize("weight_format", ["mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2"])
@pytest.mark.parametrize("layout", ["logical", "shuffle_16x16", "a16w4"])
@pytest.mark.parametrize("rounding", ["none", "mxfp4", "mxfp6_e2m3", "mxfp8"])
def test_mx_weights_in_any_layout_with_any_mx_rounding_are_served(able_device, weight_format, layout, rounding):
    assert reasons(layout, rounding, rounding, weight_format=weight_format) == ()


def test_quantised_tokens_bring_their_scale(able_device):
    codes = torch.zeros(2, 32, dtype=torch.uint8)
    assert reasons(hidden_states=codes, a1_scale=torch.zeros(2, 2, dtype=torch.uint8)) == ()


EXPERT = torch.zeros(1, 64, 32, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("changes", "form"),
    [
        ({}, "exact"),
        ({"qdq_first": "none", "qdq_second": "none"}, "wide"),
        ({"qdq_first": "mxfp8", "qdq_second": "mxfp8", "out_dtype": torch.float16}, "wide"),
        ({"qdq_first": "mxfp4", "qdq_second": "mxfp8"}, "wide"),
        ({"qdq_second": "none", "out_dtype": torch.float16}, "plain"),
        ({"qdq_second": "none", "profile": profile("aiter-0.1.15", second_qdq_from="fp32")}, "plain"),
        ({"qdq_first": "none", "hidden_states": torch.zeros(2, 64)}, "plain"),
        ({"weight_layout": "a16w4"}, "plain"),
        ({"weight_format": "mxfp8"}, "plain"),
        ({"shared_w1": EXPERT, "shared_w2": EXPERT}, "plain"),
        ({"hidden_states": torch.zeros(2, 32, dtype=torch.uint8)}, "plain"),
    ],
    ids=str,
)
def test_each_call_gets_the_fastest_form_that_serves_it(able_device, changes, form):
    assert forms.form_of(make_request(**changes)) == form


@pytest.mark.parametrize(
    ("hip", "capability", "triton", "said"),
    [
        ("6.4", (9, 0), "3.6.0", "ROCm"),
        (None, (8, 0), "3.6.0", "this is 8.0"),
        (None, (10, 0), "3.6.0", "this is 10.0"),
        (None, (9, 0), "3.60.0", "tested with Triton 3.6, this is 3.60.0"),
    ],
)
def test_other_gpus_get_the_plain_form(monkeypatch, hip, capability, triton, said):
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(forms.importlib.metadata, "version", lambda name: triton)
    forms.missing_for_hopper.cache_clear()
    try:
        assert said in str(forms.missing_for_hopper(torch.device("cpu")))
        assert forms.form_of(make_request()) == "plain"
    finally:
        forms.missing_for_hopper.cache_clear()


def test_a_form_that_was_asked_for_says_what_it_refuses(able_device):
    request = make_request(weight_layout="a16w4")
    with pytest.raises(ac.UnsupportedByEmulation, match="these are in a16w4"):
        running.run_triton(request, form="exact")
    with pytest.raises(ac.UnsupportedByEmulation, match="these are in a16w4"):
        running.run_triton(request, form="wide")


def test_a_cpu_is_refused_with_the_reason():
    with pytest.raises(ac.UnsupportedByEmulation, match="the tensors are on cpu"):
        run_triton(make_request())


@pytest.mark.parametrize(
    ("version", "enough"), [("3.3.1", False), ("3.4.0", True), ("3.6.0+rocm", True), ("4.0", True)]
)
def test_an_old_triton_is_refused(monkeypatch, version, enough):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(availability.importlib.metadata, "version", lambda name: version)
    availability.missing_requirement.cache_clear()
    try:
        missing = availability.missing_requirement()
        assert missing is None if enough else f"need Triton 3.4 or newer, this is {version}" in missing
    finally:
        availability.missing_requirement.cache_clear()


def test_the_path_is_not_offered_without_triton(monkeypatch):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: None)
    availability.missing_requirement.cache_clear()
    try:
        assert availability.missing_requirement() == "Triton is not installed"
    finally:
        availability.missing_requirement.cache_clear()
