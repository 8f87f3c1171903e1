"""Which calls the compiled path serves, and what a person is told about the others."""

import dataclasses
import logging

import pytest
import torch

import aiter_compat as ac
from aiter_compat.backends.emulation import refusals, run_compiled, warm_up
from aiter_compat.errors import UnsupportedByEmulation


def reasons(request):
    return refusals(request, request.weight_layout, request.qdq_first, request.qdq_second)


def arguments(request, **more):
    return {
        "hidden_states": request.hidden_states,
        "w1": request.w1,
        "w2": request.w2,
        "topk_weight": request.topk_weight,
        "topk_ids": request.topk_ids,
        "quant_type": "per_1x32",
        "w1_scale": request.w1_scale,
        "w2_scale": request.w2_scale,
        "activation_qdq": "mxfp4",
        "dtype": torch.float32,
        **more,
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"weight_format": "mxfp6_e2m3"}, "mxfp4 weights"),
        ({"weight_layout": "a16w4"}, "logical layout"),
        ({"qdq_second": "fp8_token"}, "not fp8_token"),
        ({"a2_scale": torch.ones(1)}, "static"),
        ({"shared_w1": torch.zeros(1)}, "shared expert"),
        ({"hidden_states": torch.zeros(2, 48, dtype=torch.uint8)}, "hidden_states are"),
        ({"bias1": torch.zeros(6, 320, dtype=torch.float64)}, "bias1 is"),
        ({"w1_scale": torch.zeros(6, 3, 320, dtype=torch.uint8).transpose(1, 2)}, "w1_scale is not contiguous"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_it_does_not_serve_is_named(request_of, changes, reason):
    (found,) = reasons(dataclasses.replace(request_of(2), **changes))
    assert reason in found


def test_what_it_does_not_serve_is_refused(request_of):
    with pytest.raises(UnsupportedByEmulation, match="not fp8_token"):
        run_compiled(request_of(2, qdq="fp8_token"))


def test_without_numba_the_extra_is_named(request_of, monkeypatch):
    monkeypatch.setattr(
        "aiter_compat.backends.emulation.compiled.availability.missing_requirement", lambda: "numba is not installed"
    )
    assert reasons(request_of(2)) == ("numba is not installed",)


def test_the_decision_names_path_and_reason(request_of, without_aiter):
    request = request_of(2)
    decision = ac.explain(**arguments(request))
    assert (decision.backend, decision.path) == ("emulation", "compiled")
    decision = ac.explain(**arguments(request, activation_qdq="fp8_token"))
    assert decision.path == "torch"
    assert "not fp8_token" in str(decision)
    assert ac.explain(**arguments(request, backend="torch")).path == "torch"
    with pytest.raises(UnsupportedByEmulation, match="backend='torch'"):
        ac.explain(**arguments(request, activation_qdq="fp8_token", backend="compiled"))


def test_backends_agree(request_of, without_aiter):
    request = request_of(3)
    compiled = ac.fused_moe(**arguments(request, backend="compiled"))
    assert torch.equal(compiled, run_compiled(request))
    torch.testing.assert_close(compiled, ac.fused_moe(**arguments(request, backend="torch")), rtol=1e-5, atol=1e-6)


def test_loading_is_announced(monkeypatch, caplog):
    monkeypatch.setattr("aiter_compat.backends.emulation.compiled.loading._loaded", None)
    with caplog.at_level(logging.INFO, logger="aiter_compat"):
        assert warm_up() is None
    assert "ready" in caplog.text
    caplog.clear()
    assert warm_up() is None
    assert not caplog.records


def test_a_folder_that_cannot_hold_a_cache_costs_time_not_the_path(caplog):
    from aiter_compat.backends.emulation.compiled.kernels.compiler import _cached

    asked = []

    def compile_(signature, *, cache=False, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function 'f': no locator available for file 'layer.py'")
        return lambda function: function

    assert _cached(compile_, None, len) is len
    assert asked == [True, False]
    assert "NUMBA_CACHE_DIR" in caplog.text
