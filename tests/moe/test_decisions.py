"""Who serves a call, why, and what a person is told: AITER works, cannot express it, or cannot be used."""

import importlib
import json
import math
import warnings

import pytest
import torch

import aiter_compat as ac
from aiter_compat.layouts import shuffle_16x16, shuffle_scale_e8m0

NEW, OLD = "0.1.15.post3", "0.1.13.post1"


def reasons(decision) -> str:
    return "; ".join(reason for rejection in decision.rejected for reason in rejection.reasons)


def journal():
    return importlib.import_module("aiter.stub_runtime.journal")


@pytest.fixture
def marked(make_layer):
    """A bf16 call whose layout is stated, so that a fallback may read it."""
    return make_layer("bf16").call | {"weight_layout": "logical"}


class TestAutoOnTheCpu:
    def test_a_call_that_fits_is_emulated_without_a_warning(self, aiter_stub, make_layer):
        aiter_stub(NEW)
        layer = make_layer("bf16")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            out = ac.fused_moe(**layer.call)
        assert torch.equal(out, ac.fused_moe(**layer.call, backend="emulation"))
        decision = ac.explain(**layer.call)
        assert (decision.backend, decision.path, decision.release) == ("emulation", "torch", NEW)
        assert reasons(decision) == "hidden_states is on cpu; AITER runs on ROCm GPUs"
        assert decision.reason == "hidden_states is on cpu; AITER runs on ROCm GPUs"

    def test_each_cause_warns_once(self, aiter_stub, marked):
        aiter_stub(OLD)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for limit in (2.0, 3.0):
                ac.fused_moe(**marked, activation="swiglu", swiglu_limit=limit)
        assert [warning.category for warning in caught] == [ac.AiterCompatWarning] * 2
        texts = [str(warning.message) for warning in caught]
        assert "swiglu_limit=2.0" in texts[0]
        assert "capability swiglu_limit" in texts[0]
        assert "gate_mode=separated" in texts[1]
        assert {warning.filename for warning in caught} == {__file__}  # the caller's line, not ours
        ac.refresh()
        with pytest.warns(ac.AiterCompatWarning, match="swiglu_limit=3.0"):
            ac.fused_moe(**marked, swiglu_limit=3.0)

    def test_strict_mode_refuses_instead(self, aiter_stub, marked, monkeypatch):
        monkeypatch.setenv("AITER_COMPAT_STRICT", "1")
        aiter_stub(OLD)
        for run in (ac.fused_moe, ac.explain):
            with pytest.raises(ac.UnsupportedByAiter, match=r"swiglu_limit=2.0.*AITER_COMPAT_STRICT=1 forbids"):
                run(**marked, swiglu_limit=2.0)
        assert ac.explain(**marked).backend == "emulation"  # nothing inexpressible: a device is no refusal
        assert ac.explain(**marked, swiglu_limit=2.0, backend="emulation").backend == "emulation"

    @pytest.mark.parametrize("strict", ["0", "1"])
    @pytest.mark.parametrize("activation", ["swigluoai", "silu"])
    def test_a_layout_that_prepare_weights_chose_is_no_cause(self, aiter_stub, monkeypatch, strict, activation):
        """Weights stay in rows because the device is not AITER's; nothing to warn of, nothing to refuse."""
        monkeypatch.setenv("AITER_COMPAT_STRICT", strict)
        aiter_stub("0.1.20.post1")
        config = ac.MoEConfig(hidden_size=256, intermediate_size=256, num_experts=2, top_k=1, activation=activation)
        w1, w2 = (ac.quantize(torch.ones(2, rows, 256), "mxfp4") for rows in (512, 256))
        weights = ac.prepare_weights(w1.codes, w2.codes, w1.scales, w2.scales, config=config)
        given = (torch.ones(1, 256).bfloat16(), weights, torch.ones(1, 1), torch.zeros(1, 1, dtype=torch.int32))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ac.fused_experts(*given, config=config)
        assert ac.explain(*given, config=config).reason == "hidden_states is on cpu; AITER runs on ROCm GPUs"

    def test_arithmetic_and_formats_are_the_installed_releases(self, aiter_stub, make_layer):
        layer = make_layer()
        for release, qdq, numerics in (
            ("0.1.13.post1", "none", "aiter-0.1.13"),
            ("0.1.15.post3", "none", "aiter-0.1.15"),
            ("0.1.20.post1", "none", "aiter-0.1.16"),
        ):
            aiter_stub(release)
            for backend in ("auto", "emulation"):
                decision = ac.explain(**layer.call, activation="swiglu", backend=backend)
                assert (decision.activation_format, decision.numerics) == (qdq, numerics)
                assert release in decision.activation_format_reason
        many = make_layer(tokens=600)
        for release, qdq in (("0.1.13.post1", "fp8_cast"), ("0.1.15.post3", "mxfp4")):
            aiter_stub(release)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert ac.explain(**many.call, activation="swiglu").activation_format == qdq
                assert (
                    ac.explain(**many.call, activation="swiglu", numerics="aiter-0.1.13").activation_format
                    == "fp8_cast"
                )


class TestAiterThatCannotBeUsed:
    @pytest.mark.parametrize(
        ("name", "error", "words"),
        [
            ("broken", RuntimeError, "RuntimeError: ROCm version file not found"),
            ("incompatible", ValueError, "ValueError: too many values to unpack (expected 2)"),
            ("truncated", ImportError, "ImportError: cannot import name 'ActivationType'"),
        ],
    )
    def test_its_own_error_is_in_the_decision(self, aiter_stub, make_layer, name, error, words):
        aiter_stub(name)
        layer = make_layer("bf16")
        with warnings.catch_warnings():
            warnings.simplefilter("error", ac.AiterCompatWarning)
            out = ac.fused_moe(**layer.call)
        assert torch.equal(out, ac.fused_moe(**layer.call, backend="emulation"))
        decision = ac.explain(**layer.call)
        assert decision.backend == "emulation"
        assert words in reasons(decision)
        with pytest.raises(ac.AiterImportError, match=r"aiter\.fused_moe failed") as caught:
            ac.fused_moe(**layer.call, backend="aiter")
        assert isinstance(caught.value.__cause__, error)

    @pytest.mark.parametrize("name", ["broken", "incompatible", "truncated"])
    def test_what_it_could_not_express_either_does_not_matter(self, aiter_stub, make_layer, monkeypatch, name):
        """Falling back is no choice here: no warning, no strict refusal, no doubt about the layout."""
        monkeypatch.setenv("AITER_COMPAT_STRICT", "1")
        monkeypatch.setattr("aiter_compat.moe.decide.device_refusal", lambda device, quant_type: None)
        aiter_stub(name)
        layer = make_layer("bf16")
        with warnings.catch_warnings():
            warnings.simplefilter("error", ac.AiterCompatWarning)
            assert ac.fused_moe(**layer.call, dtype=torch.float32).dtype == torch.float32

    def test_a_foreign_package(self, fake_site, make_layer):
        fake_site({
            "aiter/__init__.py": "__version__ = '0.13.20191203'\n",
            "aiter/azip.py": "",
            "aiter/join_aiters.py": "",
            "aiter-0.13.20191203.dist-info/METADATA": "Metadata-Version: 2.1\nName: aiter\nVersion: 0.13.20191203\n",
        })  # fmt: skip
        layer = make_layer()
        decision = ac.explain(**layer.call)
        assert ac.installation().kind == "foreign"
        assert (decision.backend, decision.release, decision.numerics) == ("emulation", None, "aiter-0.1.15")
        assert ac.explain(**layer.call, backend="emulation").numerics == "aiter-0.1.15"
        with pytest.raises(ac.AiterImportError):
            ac.fused_moe(**layer.call, backend="aiter")


@pytest.mark.usefixtures("usable_on_cpu")
class TestAUsableAiter:
    def test_auto_takes_aiter_when_everything_fits(self, aiter_stub, make_layer):
        aiter_stub(NEW)
        layer = make_layer("bf16")
        decision = ac.explain(**layer.call)
        assert (decision.backend, decision.path) == ("aiter", "aiter.fused_moe.fused_moe")
        assert decision.numerics == "aiter-0.1.15"
        out = ac.fused_moe(**layer.call)
        assert journal().last_call["hidden_states"] is layer.call["hidden_states"]
        assert torch.equal(out, ac.fused_moe(**layer.call, backend="aiter"))

    def test_an_unstated_layout_stops_a_fallback(self, aiter_stub, make_layer):
        aiter_stub(OLD)
        call = make_layer("bf16").call | {"swiglu_limit": 2.0}
        for run in (ac.fused_moe, ac.explain):
            with pytest.raises(
                ac.LayoutUnknown, match=r"probably shuffled.*capability swiglu_limit.*weight_layout='logical'"
            ):
                run(**call)
        with pytest.warns(ac.AiterCompatWarning, match="swiglu_limit=2.0"):
            stated = ac.fused_moe(**call, weight_layout="logical")
        assert torch.equal(stated, ac.fused_moe(**call, backend="emulation"))
        shuffled = {name: shuffle_16x16(call[name]) for name in ("w1", "w2")}
        for weight in shuffled.values():
            weight.is_shuffled = True
        assert torch.equal(ac.fused_moe(**call | shuffled), stated)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"numerics": "ocp"}, "numerics=ocp"),
            ({"numerics": "aiter-0.1.13"}, "numerics=aiter-0.1.13"),
            ({"activation_qdq": "mxfp8"}, "activation_qdq=mxfp8: this release would use mxfp4"),
            ({"activation_qdq": "none"}, "activation_qdq=none"),
            ({"dtype": torch.float32}, "dtype=torch.float32"),
            ({"stage2_scatter": 1}, "takes no such keyword"),
        ],
    )
    def test_what_aiter_would_do_differently_is_not_sent(self, aiter_stub, make_layer, change, words):
        aiter_stub(NEW)
        call = make_layer().call | {"weight_layout": "shuffle_16x16"}
        with pytest.raises(ac.UnsupportedByAiter, match=words):
            ac.fused_moe(**call | change, backend="aiter")
        if "stage2_scatter" in change:
            with pytest.raises(ac.UnsupportedByEmulation, match="stage2_scatter"):
                ac.explain(**call | change)
            return
        decision = ac.explain(**call | change)
        assert decision.backend == "emulation"
        assert words in reasons(decision)

    @pytest.mark.parametrize(
        "change",
        [
            {"numerics": "aiter-0.1.15"},
            {"numerics": "aiter-0.1.15.post3"},
            {"activation_qdq": "mxfp4"},
            {"activation_qdq": "as_aiter"},
            {"dtype": torch.float16},
            {"swiglu_limit": 0.0},
            {"swiglu_limit": math.inf},
            {"gate_mode": "separated"},
            {"stage2_scatter": None},
        ],
    )
    def test_what_aiter_does_anyway_is_sent(self, aiter_stub, make_layer, change):
        aiter_stub(NEW)
        call = make_layer().call | {"weight_layout": "shuffle_16x16"}
        assert ac.explain(**call | change).backend == "aiter"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"activation": "swiglu", "swiglu_limit": 2.0}, "only FlyDSL stage 1 receives swiglu_limit"),
            ({"activation": "swiglu", "doweight_stage1": True}, "never apply the routing weight in stage 1"),
            ({"bias2": torch.zeros(4, 256)}, "CK and CK-Tile stages never receive bias1 and bias2"),
        ],
    )
    def test_arguments_that_a_kernel_may_ignore(self, aiter_stub, make_layer, change, words):
        aiter_stub(NEW)
        call = make_layer(hidden=256, intermediate=256).call
        call |= {name: shuffle_16x16(call[name]) for name in ("w1", "w2")}
        call |= {f"{name}_scale": shuffle_scale_e8m0(call[f"{name}_scale"]) for name in ("w1", "w2")}
        call |= {"weight_layout": "shuffle_16x16"} | change
        decision = ac.explain(**call)
        assert decision.backend == "emulation"
        assert words in reasons(decision)
        with pytest.warns(ac.AiterCompatWarning, match=words) as caught:
            ac.fused_moe(**call, backend="aiter")
        assert [warning.filename for warning in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ac.fused_moe(**call, backend="aiter")  # said once
        by_word = ac.explain(**call, backend="aiter")
        assert by_word.backend == "aiter"
        assert any(words in note for note in by_word.notes)

    def test_logical_scales_that_kernels_would_misread(self, aiter_stub, make_layer):
        aiter_stub(NEW)
        decision = ac.explain(**make_layer().call, weight_layout="logical")
        assert decision.backend == "emulation"
        assert "scales of separated MXFP4 weights shuffled" in reasons(decision)

    def test_harmless_pads_are_sent_and_noted(self, aiter_stub, make_layer):
        aiter_stub(NEW)
        call = make_layer("bf16", hidden=256, intermediate=128).call | {"hidden_pad": 128, "intermediate_pad": 64}
        decision = ac.explain(**call)
        assert (decision.backend, decision.hidden_pad, decision.intermediate_pad) == ("aiter", 128, 64)
        assert any("ignore hidden_pad" in note and "zeros" in note for note in decision.notes)

    def test_exact_qdq_makes_another_format_ineligible(self, aiter_stub, make_layer):
        aiter_stub(NEW)
        layer = make_layer(hidden=256, intermediate=256)
        fields = {"hidden_size": 256, "intermediate_size": 256, "num_experts": 4, "top_k": 2}

        def explain(**changes):
            config = ac.MoEConfig(**fields, activation="swigluoai_uninterleave", activation_format="mxfp4", **changes)
            names = ("w1", "w2", "w1_scale", "w2_scale")
            weights = ac.prepare_weights(*(layer.call[name] for name in names), config=config, backend="aiter")
            routing = (layer.call["topk_weight"], layer.call["topk_ids"])
            return ac.explain(layer.call["hidden_states"], weights, *routing, config=config)

        accepted = explain()
        assert (accepted.backend, accepted.activation_format) == ("aiter", "none")
        assert "below 256 tokens" in accepted.activation_format_reason
        exact = explain(exact_qdq=True)
        assert (exact.backend, exact.activation_format) == ("emulation", "mxfp4")
        assert "this release would use none" in reasons(exact)


class TestExplain:
    def test_it_runs_nothing_and_warns_of_nothing(self, aiter_stub, marked, monkeypatch):
        aiter_stub(OLD)
        monkeypatch.setattr("aiter_compat.moe.run.run", lambda request: pytest.fail("ran the emulation"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ac.explain(**marked, activation="swiglu", swiglu_limit=2.0)
            ac.explain(**marked, backend="aiter", doweight_stage1=True)
        assert journal().last_call is None

    def test_it_takes_positions_as_the_call_does(self, make_layer, without_aiter):
        layer = make_layer("bf16")
        names = ("hidden_states", "w1", "w2", "topk_weight", "topk_ids")
        positional = ac.explain(*(layer.call[name] for name in names), None, "gelu")
        assert positional == ac.explain(**layer.call, activation="gelu")

    @pytest.mark.parametrize("release", [OLD, NEW, "0.1.20.post1", "broken"])
    def test_what_it_says_is_what_the_call_does(self, aiter_stub, sample_of, release, monkeypatch, request):
        aiter_stub(release)
        if request.node.callspec.params["release"] != "broken":
            monkeypatch.setattr("aiter_compat.moe.decide.device_refusal", lambda device, quant_type: None)
        for name, call in sample_of.items():
            decision, error = None, None
            try:
                decision = ac.explain(**call)
            except ac.AiterCompatError as refusal:
                error = refusal
            if release != "broken":
                ac.ActivationType.Silu  # noqa: B018 - imports the stub
                journal().last_call = None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ac.AiterCompatWarning)
                if error is not None:
                    with pytest.raises(type(error)) as caught:
                        ac.fused_moe(**call)
                    assert str(caught.value) == str(error), name
                    continue
                out = ac.fused_moe(**call)
                pinned = {"activation_qdq": decision.activation_format} if decision.backend == "emulation" else {}
                assert torch.equal(out, ac.fused_moe(**call | pinned | {"backend": decision.backend})), name
            if release != "broken":
                assert (journal().last_call is not None) == (decision.backend == "aiter"), name

    def test_a_decision_reads_well_and_is_ready_for_json(self, aiter_stub, marked):
        aiter_stub(OLD)
        decision = ac.explain(**marked, activation="swiglu", swiglu_limit=2.0, hidden_pad=32)
        text = str(decision)
        lines = text.splitlines()
        assert lines[0] == "emulation (torch): hidden_states is on cpu; AITER runs on ROCm GPUs"
        assert lines[1] == "  not aiter:"
        assert sum(line.startswith("    - ") for line in lines) == 3  # limit, gate mode, device
        for word in (
            "numerics: aiter-0.1.13",
            "activations: none",
            "weights: logical",
            "pads: hidden 32",
            "note: pads",
        ):
            assert f"  {word}" in text
        plain = json.loads(json.dumps(decision.as_dict()))
        assert plain["backend"] == "emulation"
        assert plain["release"] == OLD
        assert len(plain["rejected"]["aiter"]) == 3
        assert set(plain) == set(decision.__dataclass_fields__)


@pytest.fixture
def sample_of(make_layer):
    """Calls that are served, fall back, or stop for want of a layout, by name."""
    bf16, mxfp4 = make_layer("bf16").call, make_layer().call
    logical = {"weight_layout": "logical"}
    return {
        "plain": bf16,
        "limit": bf16 | logical | {"swiglu_limit": 2.0},
        "limit, layout unknown": bf16 | {"swiglu_limit": 2.0},
        "swiglu": bf16 | logical | {"activation": "swiglu"},
        "logical mxfp4": mxfp4 | logical,
        "fp32": bf16 | logical | {"dtype": torch.float32},
        "weights in stage 1": bf16 | logical | {"doweight_stage1": True},
        "relu2": bf16 | logical | {"activation": "relu2"},
        "interleave, layout unknown": mxfp4 | {"gate_mode": "interleave"},
        "interleave, logical": mxfp4 | logical | {"gate_mode": "interleave"},
    }
