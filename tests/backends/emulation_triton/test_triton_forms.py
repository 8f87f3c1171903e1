"""The fastest form of the Triton path that serves a call computes it, and a person is told why not a faster one."""

import sys
from dataclasses import replace
from types import ModuleType

import pytest
import torch

import aiter_compat as ac
from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest, form_reason, run_triton
from aiter_compat.backends.emulation.triton_path import availability, forms
from aiter_compat.backends.emulation.triton_path.forms import exact_refusals, form_of, slots_refusals, wide_refusals
from aiter_compat.formats import quantize
from aiter_compat.profiles import profile

BASE = "aiter_compat.backends.emulation.triton_path"
TOKENS = 17  # times two choices are more slots than are multiplied by themselves


def make_request(weight_format="mxfp4", **changes):
    w1, w2 = quantize(torch.ones(4, 64, 64), weight_format), quantize(torch.ones(4, 64, 32), weight_format)
    made = EmulationRequest(
        hidden_states=torch.zeros(TOKENS, 64, dtype=torch.bfloat16),
        w1=w1.codes,
        w2=w2.codes,
        topk_weight=torch.ones(TOKENS, 2),
        topk_ids=torch.zeros(TOKENS, 2, dtype=torch.int32),
        activation=ActivationSpec("silu"),
        quant_type="per_1x32",
        weight_format=weight_format,
        qdq_first="mxfp4",
        qdq_second="mxfp4",
        profile=profile("aiter-0.1.15"),
        out_dtype=torch.bfloat16,
        w1_scale=w1.scales,
        w2_scale=w2.scales,
    )
    return replace(made, **changes)


@pytest.fixture
def hopper(monkeypatch):
    """The tensors of a request, which are on the CPU, count as on a Hopper GPU."""
    monkeypatch.setattr(availability, "missing_on_device", lambda device: None)
    monkeypatch.setattr(forms, "missing_for_hopper", lambda device: None)


CODES = {
    "hidden_states": torch.zeros(TOKENS, 32, dtype=torch.uint8),
    "a1_scale": torch.zeros(TOKENS, 2, dtype=torch.uint8),
}
SHARED = {
    "shared_w1": torch.zeros(1, 64, 32, dtype=torch.uint8),
    "shared_w2": torch.zeros(1, 64, 16, dtype=torch.uint8),
}
FP16 = {"hidden_states": torch.zeros(TOKENS, 64, dtype=torch.float16)}


@pytest.mark.parametrize(
    ("changes", "form"),
    [
        ({}, "exact"),
        (FP16, "exact"),
        ({"qdq_first": "mxfp8", "qdq_second": "mxfp8"}, "wide"),
        ({"qdq_first": "none", "qdq_second": "none"}, "wide"),
        (FP16 | {"qdq_first": "mxfp8"}, "wide"),
        (FP16 | {"qdq_first": "none"}, "plain"),
        (FP16 | {"qdq_first": "mxfp8", "qdq_second": "none", "out_dtype": torch.float16}, "plain"),
        ({"qdq_second": "none", "profile": profile("aiter-0.1.15", second_qdq_from="fp32")}, "plain"),
        ({"weight_format": "mxfp8"}, "plain"),
        ({"weight_layout": "a16w4"}, "plain"),
        (CODES | {"qdq_first": "none"}, "plain"),
        (SHARED, "plain"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_fastest_that_serves_a_call(hopper, changes, form):
    request = make_request(**changes)
    assert form_of(request) == form
    assert bool(exact_refusals(request)) == (form != "exact")
    alone = "up to 32 slots each by itself, else "
    assert form_reason(request).removeprefix(alone).startswith(f"{form} products")
    assert form_reason(request).startswith(alone) == (slots_refusals(request) == ())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "up to 32 slots each by itself, else exact products"),
        (
            {"qdq_first": "mxfp8"},
            "wide products, not exact ones: they multiply activations rounded through mxfp4, not mxfp8 and mxfp4",
        ),
        (
            {"weight_format": "mxfp8"},
            "plain products, neither exact nor wide ones: they multiply mxfp4 weights, these are mxfp8",
        ),
        (
            FP16 | {"qdq_first": "none"},
            "plain products, not exact ones: they multiply activations rounded through mxfp4, not none and mxfp4, nor "
            "wide ones: they multiply bfloat16, hidden_states are not rounded and torch.float16",
        ),
    ],
    ids=["exact", "wide", "plain", "plain, for two reasons"],
)
def test_the_reason_is_for_people(hopper, changes, reason):
    assert form_reason(make_request(**changes)) == reason


@pytest.mark.parametrize(
    ("intermediate", "slots", "form"),
    [
        (64, 32, "slots"),
        (64, 33, "exact"),
        (512, 32, "slots"),
        (544, 32, "exact"),
        (544, 8, "slots"),
        (544, 9, "exact"),
    ],
)
def test_few_slots_are_each_multiplied_by_themselves(hopper, intermediate, slots, form):
    ids = torch.zeros(slots, 1, dtype=torch.int32)
    request = make_request(
        hidden_states=torch.zeros(slots, 64, dtype=torch.bfloat16),
        w1=torch.zeros(4, 2 * intermediate, 32, dtype=torch.uint8),
        w2=torch.zeros(4, 64, intermediate // 2, dtype=torch.uint8),
        topk_ids=ids,
        topk_weight=ids.float(),
    )
    assert form_of(request) == form
    assert form_of(replace(request, qdq_first="mxfp8")) == "wide"


@pytest.fixture
def chosen(hopper, monkeypatch):
    """Which layer runs, without running one."""
    ran = []
    for form in ("slots", "exact", "wide", "plain"):
        layer = ModuleType(f"{BASE}.{form}_layer")
        setattr(layer, f"run_{form}", lambda request, form=form: ran.append(form) or request.hidden_states)
        monkeypatch.setitem(sys.modules, layer.__name__, layer)
    monkeypatch.setattr(torch.cuda, "device", lambda device: torch.no_grad())
    return ran


def test_the_form_runs(chosen):
    run_triton(make_request())
    run_triton(make_request(qdq_first="none", qdq_second="none"))
    run_triton(make_request("mxfp6_e2m3"))
    run_triton(make_request(), form="wide")
    run_triton(make_request(), form="plain")
    run_triton(make_request(), form="slots")
    assert chosen == ["exact", "wide", "plain", "wide", "plain", "slots"]


@pytest.mark.parametrize("form", ["slots", "exact", "wide"])
def test_a_form_that_does_not_serve_the_call_is_refused(chosen, form):
    with pytest.raises(ac.UnsupportedByEmulation, match="multiply mxfp4 weights, these are mxfp8"):
        run_triton(make_request("mxfp8"), form=form)
    assert chosen == []


@pytest.fixture
def gpu(monkeypatch):
    """Sets what the GPU and Triton are."""

    def set_gpu(capability=(9, 0), hip=None, triton="3.6.0"):
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
        monkeypatch.setattr(forms.importlib.metadata, "version", lambda name: triton)
        monkeypatch.setattr(availability, "missing_on_device", lambda device: None)
        forms.missing_for_hopper.cache_clear()

    yield set_gpu
    forms.missing_for_hopper.cache_clear()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"hip": "7.0", "capability": (9, 4)}, "this is a ROCm build of torch"),
        ({"capability": (8, 9)}, "(compute capability 9.0), this is 8.9"),
        ({"capability": (10, 0)}, "(compute capability 9.0), this is 10.0"),
        ({"triton": "3.5.1"}, "tested with Triton 3.6, this is 3.5.1"),
        ({"triton": "3.60.0"}, "tested with Triton 3.6, this is 3.60.0"),
    ],
    ids=["ROCm", "Ada", "Blackwell", "older Triton", "newer Triton"],
)
def test_other_gpus_are_served_by_the_plain_form(gpu, given, said):
    gpu(**given)
    request = make_request()
    assert form_of(request) == "plain"
    assert said in form_reason(request)
    assert exact_refusals(request) == wide_refusals(request)


def test_hopper_with_its_triton_is_served_by_all(gpu):
    gpu()
    assert exact_refusals(make_request()) == wide_refusals(make_request()) == ()


@pytest.mark.parametrize(
    ("qdq", "said"),
    [
        ("mxfp4", "asked for by name; up to 32 slots each by itself, else exact products"),
        ("mxfp8", "asked for by name; wide products, not exact ones: "),
    ],
)
def test_a_decision_names_the_form_and_why(hopper, without_aiter, qdq, said):
    request = make_request()
    arguments = {name: getattr(request, name) for name in ("hidden_states", "w1", "w2", "topk_weight", "topk_ids")}
    scales = {"w1_scale": request.w1_scale, "w2_scale": request.w2_scale}
    decision = ac.explain(**arguments, **scales, quant_type="per_1x32", activation_qdq=qdq, backend="triton")
    assert decision.path == "triton"
    assert decision.path_reason.startswith(said)
    assert decision.path_reason in str(decision)
