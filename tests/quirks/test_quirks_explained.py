"""`explain()` names the quirks of the installed release that apply to the call, and the call heeds them."""

import importlib

import pytest
import torch

import aiter_compat as ac


@pytest.fixture
def on_a_gpu_of_aiters(monkeypatch):
    monkeypatch.setattr("aiter_compat.moe.decide.device_refusal", lambda device, quant_type: None)


def call(**changed) -> dict[str, object]:
    """An MXFP4 SwiGLU call in AITER's separated layout; what the weights hold does not matter to a decision."""
    intermediate = changed.pop("intermediate", 256)
    codes = {
        "w1": torch.zeros(4, 2 * intermediate, 128, dtype=torch.uint8),
        "w2": torch.zeros(4, 256, intermediate // 2, dtype=torch.uint8),
    }
    scales = {
        f"{name}_scale": torch.full((4 * code.shape[1], code.shape[2] // 16), 127, dtype=torch.uint8)
        for name, code in codes.items()
    }
    if intermediate % 256:  # shuffled scales are stored padded to 8 columns
        scales["w2_scale"] = torch.full((4 * 256, -(-intermediate // 256) * 8), 127, dtype=torch.uint8)
    routing = {"topk_weight": torch.ones(3, 2), "topk_ids": torch.zeros(3, 2, dtype=torch.int32)}
    asked = {
        "activation": "swiglu",
        "quant_type": "per_1x32",
        "gate_mode": "separated",
        "weight_layout": "shuffle_16x16",
    }
    return {"hidden_states": torch.zeros(3, 256).bfloat16(), **codes, **scales, **routing, **asked, **changed}


@pytest.mark.usefixtures("on_a_gpu_of_aiters")
class TestOnAiter:
    def test_they_are_listed_and_told_with_their_source(self, aiter_stub):
        aiter_stub("0.1.15.post3")
        decision = ac.explain(**call(intermediate_pad=64, bias1=torch.zeros(4, 512)))
        assert decision.backend == "aiter"
        assert {"bias_switches_pads_off", "intermediate_pad_doubled_inside"} <= set(decision.quirks)
        assert decision.as_dict()["quirks"] == list(decision.quirks)
        for name in decision.quirks:
            assert sum(f"note: quirk {name}: " in line for line in str(decision).splitlines()) == 1

    def test_a_call_without_pads_meets_none_about_pads(self, aiter_stub):
        aiter_stub("0.1.15.post3")
        assert not [name for name in ac.explain(**call()).quirks if "pad" in name and "token" not in name]

    def test_pads_on_a_release_without_the_accuracy_fix_go_to_the_emulation(self, aiter_stub):
        pads = {"hidden_pad": 128, "intermediate_pad": 64}
        for release, backend in (("0.1.15.post2", "emulation"), ("0.1.15.post3", "aiter"), ("0.1.16", "aiter")):
            aiter_stub(release)
            decision = ac.explain(**call(**pads))
            assert decision.backend == backend, release
            assert ("pad_skipping_inaccurate" in decision.quirks) is (backend == "emulation")
            assert ac.explain(**call()).backend == "aiter"
        aiter_stub("0.1.15.post2")
        assert "quirk pad_skipping_inaccurate: " in " ".join(ac.explain(**call(**pads)).rejected[0].reasons)
        with pytest.warns(ac.AiterCompatWarning) as caught:
            ac.fused_moe(**call(**pads), backend="aiter")
        [told] = [str(warning.message) for warning in caught if "ignore" not in str(warning.message)]
        assert "columns that stage 1 never wrote" in told
        assert "pass intermediate_pad=0" in told
        journal = importlib.import_module("aiter.stub_runtime.journal")
        assert journal.last_call["intermediate_pad"] == 64, "what was asked for is sent"

    def test_an_intermediate_size_that_cktile_misreads_goes_to_the_emulation(self, aiter_stub):
        aiter_stub("0.1.19")
        decision = ac.explain(**call(intermediate=384))
        assert decision.backend == "emulation"
        assert "multiple of 256" in str(decision)
        assert "ROCm/aiter#5233" in str(decision)

    def test_notes_warn_of_nothing(self, aiter_stub, recwarn):
        aiter_stub("0.1.15.post3")
        assert "activation_format_by_tokens" in ac.explain(**call(), backend="aiter").quirks
        ac.fused_moe(**call(), backend="aiter")
        assert list(recwarn) == []


class TestOnTheEmulation:
    def test_beside_an_aiter_that_a_device_keeps_from_serving_they_are_named_all_the_same(self, aiter_stub):
        aiter_stub("0.1.13.post1")
        decision = ac.explain(**call())
        assert decision.backend == "emulation"
        assert "swiglu_reads_interleaved" in decision.quirks
        assert "quirks of AITER 0.1.13.post1 for such a call: " in str(decision)

    def test_without_aiter_there_are_none(self, without_aiter):
        decision = ac.explain(**call())
        assert decision.quirks == ()
        assert "quirk" not in str(decision)


def test_situv2_always_says_its_numbers(aiter_stub, on_a_gpu_of_aiters):
    """None means 1.0 to FlyDSL's kernels and 4.0 and 25.0 to Opus: only numbers have one meaning."""
    aiter_stub("0.1.20.post1")
    w1, w2 = torch.zeros(4, 128, 64).bfloat16(), torch.zeros(4, 64, 64).bfloat16()
    routing = {"topk_weight": torch.ones(3, 2), "topk_ids": torch.zeros(3, 2, dtype=torch.int32)}
    layer = {"hidden_states": torch.zeros(3, 64).bfloat16(), "w1": w1, "w2": w2, **routing, "activation": "situv2"}
    journal = importlib.import_module("aiter.stub_runtime.journal")
    ac.fused_moe(**layer, backend="aiter")
    assert (journal.last_call["beta"], journal.last_call["linear_beta"]) == (4.0, 25.0)
    ac.fused_moe(**layer, beta=2.0, linear_beta=3.0, backend="aiter")
    assert (journal.last_call["beta"], journal.last_call["linear_beta"]) == (2.0, 3.0)
